"""How a text file of one's own is cut into fields, by its first lines, and what columns are usually called."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from murmura.data.tables.text_file import TextFile

PARTS = ("user", "item", "value", "time", "category")
# the names a column may have when nobody says which is which, the likeliest first
GUESSES: dict[str, tuple[str, ...]] = {
    "user": ("user", "user_id", "userId", "userid", "uid", "reviewerID"),
    "item": ("item", "item_id", "itemId", "itemid", "iid", "movieId", "venue_id", "asin", "work"),
    "value": ("value", "rating", "score", "stars", "overall", "weight"),
    "time": ("time", "timestamp", "utc", "unixtime", "unixReviewTime", "date"),
    "category": ("category", "type", "genre"),
}
# what such names end in, without `id` and the like; also in other languages
_WORDS = {
    "user": """user uid customer client member person people visitor reader listener player subscriber account
        reviewer buyer shopper viewer patron profile nutzer benutzer kunde kundin kunden utente usuario
        utilisateur cliente usager gebruiker klant""",
    "item": """item iid product article movie film book song track artist venue place sku isbn asin game show
        recipe hotel restaurant business work app course video poi artikel produkt buch lied werk produit
        livre articolo prodotto libro artículo articulo producto película pelicula boek""",
    "value": """value rating ratings score stars star overall weight note grade rate vote points plays playcount
        count counts listens like liked click clicked quantity qty strength preference bewertung wertung wert
        punkte sterne anzahl menge voto valutazione punteggio nota valor puntuacion puntuación valoracion
        valoración évaluation evaluation étoiles waardering""",
    "time": """time timestamp ts utc unixtime date datetime day when created updated zeit zeitpunkt zeitstempel
        datum uhrzeit tag heure horodatage jour ora fecha hora momento tijd tijdstip""",
}
_WEAK = frozenset(("title", "titel", "titre", "titolo", "título", "titulo", "name"))  # of items without an id
WORDS = {part: frozenset(words.split()) for part, words in _WORDS.items()}
IDS = frozenset(("id", "ids", "no", "nr", "num", "number", "nummer", "key", "code", "hash", "index", "uuid"))


def named(header: Sequence[str], columns: Mapping[str, str]) -> dict[str, str]:
    """Which column is which: as given, otherwise by the default names; an unclear one is left out."""
    names = {part: columns[part] for part in PARTS if part in columns}
    for part in PARTS:
        free = [name for name in header if name not in names.values()]
        chosen = _default_name(part, free) if part not in names else None
        if chosen is not None:
            names[part] = chosen
    return {part: names[part] for part in PARTS if part in names}


def missing(names: Mapping[str, str]) -> list[str]:
    """The parts that nobody can do without and nobody named."""
    return [part for part in ("user", "item") if part not in names]


def _default_name(part: str, free: Sequence[str]) -> str | None:
    """The one column that is called like this part; None where none is, or where several are."""
    exact = next((name for name in GUESSES[part] if name in free), None)
    if exact is not None:
        return exact
    alike = [name for name in free if _means(name) == part]
    if not alike and part == "item":
        alike = [name for name in free if name.lower() in _WEAK]
    return alike[0] if len(alike) == 1 or (alike and part in ("value", "time")) else None


def _means(name: str) -> str | None:
    """The part a name speaks of: by its last word that is no `id`, or because something happened `at` it."""
    words = [word.lower() for word in re.findall(r"[^\W\d_]+", re.sub(r"([a-z])([A-Z])", r"\1 \2", name))]
    if len(words) > 1 and words[-1] in ("at", "on"):
        return "time"
    meaningful = [word for word in words if word not in IDS]
    whole = re.sub("(id|nr|no|key|code)$", "", "".join(words))  # customerid
    for part, known in WORDS.items():
        if whole in known or (meaningful and meaningful[-1] in known):
            return part
    return None


BY_SUFFIX = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
SEPARATORS = ("\t", ";", ",", "::", "|")
SPOKEN = {"\\t": "\t", "tab": "\t", "comma": ",", "semicolon": ";", "space": " ", "pipe": "|"}
LOOKED_AT, SHOWN = 10, 3  # lines that are looked at, and that an error shows
_DIRECTIVE = re.compile(rb"sep=(.)\r?\n", re.IGNORECASE)  # how some spreadsheets say their separator
_REMARKS = re.compile(rb"\s*(?:[#%][^\n]*\n\s*)+")
_DATUM = re.compile(r"[+-]?[0-9][0-9.,:/ T-]*")  # what is no name of a column


@dataclass(frozen=True)
class Dialect:
    """What stands between fields, whether they may be quoted, and the first rows cut by it."""

    separator: str
    quoted: bool
    headed: bool
    rows: tuple[tuple[str, ...], ...]  # the first ones, that of the header among them

    @property
    def header(self) -> list[str]:
        """The names of the columns; [] where there are none."""
        return list(self.rows[0]) if self.headed and self.rows else []


def dialect_of(text: TextFile, separator: str | None = None, header: bool | None = None) -> Dialect:
    """How the file is cut: as given, otherwise by what its first lines have in common."""
    lines = first_lines(text)
    cut = SPOKEN.get(separator, separator) if separator else sniff_separator(text.path, lines)
    may_quote = len(cut) == 1 and (cut in ",;" or lines[0].startswith('"'))
    rows = tuple(_cut(line, cut, may_quote) for line in lines)
    if header is None:  # by a name that is known, or because no field of the first row is a datum
        known = {"user", "item"} & set(named(rows[0], {}))
        header = bool(known) or not any(_DATUM.fullmatch(field) for field in rows[0])
    return Dialect(cut, may_quote, header, rows)


def first_lines(text: TextFile, count: int = LOOKED_AT) -> list[str]:
    """The first lines that are not blank."""
    head = text.content[: 2**16].decode(errors="ignore").splitlines()
    return [line for line in head if line.strip()][:count] or [""]


def separator_by_name(path: Path, first: str) -> str | None:
    """What the name of a file says about its separator, where its first line has that one."""
    suffix = Path(path.name.lower().removesuffix(".gz")).suffix
    by_name = BY_SUFFIX.get(suffix)
    return by_name if by_name and by_name in first else None


def sniff_separator(path: Path, lines: Sequence[str]) -> str:
    """The one that cuts all first lines into equally many fields; else the one of the file's name.

    A space is one only where nothing else can be.
    """
    by_name = separator_by_name(path, _unquoted(lines[0]))
    if by_name == "\t":
        return by_name  # which is in no text by accident
    order = [*([by_name] if by_name else []), *(one for one in SEPARATORS if one != by_name)]
    counts = {one: {_unquoted(line).count(one) for line in lines} for one in order}
    even = [one for one in order if len(counts[one]) == 1 and 0 not in counts[one]]
    if even:
        return max(even, key=lambda one: min(counts[one]))
    first = _unquoted(lines[0])
    if by_name:
        return by_name
    if not any(one in first for one in SEPARATORS) and len(first.split()) > 1:
        return " "
    return max(order, key=first.count)


def tidied(text: TextFile) -> tuple[TextFile, str | None]:
    """The file without what spreadsheets add to it, and the separator it stated; lines keep their place.

    A line `sep=;` and remarks before the table become blank; a carriage return alone ends a line; spaces after
    all separators are dropped.
    """
    content, stated = text.content, None
    if b"\r" in content and b"\n" not in content:
        content = content.replace(b"\r", b"\n")
    if found := _DIRECTIVE.match(content):
        stated, content = found[1].decode(), b"\n" + content[found.end() :]
    if remarks := _REMARKS.match(content):
        content = _without_remarks(remarks[0]) + content[remarks.end() :]
    found_text = replace(text, content=content)
    lines = first_lines(found_text)
    cut = stated or sniff_separator(text.path, lines)
    if cut == " ":
        found_text = replace(found_text, content=re.sub(rb" +", b" ", content))
    elif len(cut) == 1 and all(
        cut in line and not re.search(rf"{re.escape(cut)}(?! )", line) for line in lines
    ):
        found_text = replace(found_text, content=_closed_up(content, cut))
    return found_text, stated


def show_lines(text: TextFile) -> str:
    """The first lines, as an error repeats them below its sentence."""
    return "\n".join(f"  {number} | {line[:160]}" for number, line in enumerate(first_lines(text, SHOWN), 1))


def _without_remarks(remarks: bytes) -> bytes:
    """As many blank lines, but for the last remark where it names columns."""
    last = remarks.rstrip().rpartition(b"\n")[2].lstrip(b"#% ")
    names = re.split(r"\t|;|,|::|\|", last.decode())
    blank = b"\n" * (remarks.count(b"\n") - 1)
    return blank + last + b"\n" if {"user", "item"} <= set(named(names, {})) else blank + b"\n"


def _cut(line: str, separator: str, may_quote: bool) -> tuple[str, ...]:
    try:
        return tuple(
            next(csv.reader([line], delimiter=separator), [""]) if may_quote else line.split(separator)
        )
    except csv.Error:
        return (line,)


def _unquoted(line: str) -> str:
    return re.sub(r'"[^"]*"', "", line)


def _closed_up(content: bytes, separator: str) -> bytes:
    if b'"' not in content:
        return re.sub(re.escape(separator.encode()) + rb"[ ]+", separator.encode(), content)
    made = io.StringIO()
    reader = csv.reader(io.StringIO(content.decode(), newline=""), delimiter=separator, skipinitialspace=True)
    csv.writer(made, delimiter=separator, lineterminator="\n").writerows(reader)
    return made.getvalue().encode()
