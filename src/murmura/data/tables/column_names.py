"""Which column is the user, the item, the value, the time: by what columns are usually called."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

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
    """Which column is which: as told, otherwise by the usual names; what cannot be told is left out."""
    names = {part: columns[part] for part in PARTS if part in columns}
    for part in PARTS:
        free = [name for name in header if name not in names.values()]
        chosen = _usual(part, free) if part not in names else None
        if chosen is not None:
            names[part] = chosen
    return {part: names[part] for part in PARTS if part in names}


def missing(names: Mapping[str, str]) -> list[str]:
    """The parts that nobody can do without and nobody named."""
    return [part for part in ("user", "item") if part not in names]


def by_order(header: Sequence[str], names: Mapping[str, str]) -> dict[str, str]:
    """A guess to offer: what is known, and the missing ones by the order of the other columns."""
    free = [name for name in header if name and name not in names.values()]
    guess = {**names, **dict(zip(missing(names), free))}
    return {part: guess[part] for part in PARTS if part in guess}


def is_usual(part: str, name: str) -> bool:
    """Whether a column of this name needs no explanation."""
    return name in GUESSES[part]


def _usual(part: str, free: Sequence[str]) -> str | None:
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
    told = [word for word in words if word not in IDS]
    whole = re.sub("(id|nr|no|key|code)$", "", "".join(words))  # customerid
    for part, known in WORDS.items():
        if whole in known or (told and told[-1] in known):
            return part
    return None
