"""One self-contained page of sections, and its tables as files beside it."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import resources
from pathlib import Path
from typing import Any

import yaml

from murmura.core.files import write_whole
from murmura.engine.part_files import printable
from murmura.report.drawing import Picture
from murmura.report.summary import Results, summarise
from murmura.report.table import FORMATS, ReportTable
from murmura.studies.compare.folder import ComparisonFolder

GLOSSARY_FILE = "glossary"


@cache
def words(name: str) -> dict[str, Any]:
    """The texts of a section, from `words/<name>.yaml`."""
    file = resources.files("murmura.report").joinpath("words", f"{name}.yaml")
    found: dict[str, Any] = yaml.safe_load(file.read_text(encoding="utf-8"))
    return found


def terms_of(headings: Iterable[str]) -> dict[str, str]:
    """The words of the glossary that occur."""
    text = "\n".join(headings)
    return {word: one["means"] for word, one in words(GLOSSARY_FILE).items() if re.search(one["where"], text)}


LIST = "tables.txt"  # beside the tables: which of them a report wrote
CROWD = 30  # models that still fit into one chart; a sweep with more has charts of its own


@dataclass(frozen=True)
class Section:
    """A part of a page: what it says, its pictures and tables in their order, a block of text."""

    name: str
    title: str
    parts: tuple[Picture | ReportTable, ...] = ()
    lead: tuple[str, ...] = ()
    text: str = ""
    notes: tuple[str, ...] = ()  # below the text
    banner: str = ""

    @staticmethod
    def of(name: str, title: str, *parts: Picture | ReportTable | None, **more: Any) -> Section | None:
        """A section of the parts that are there; it does not apply where there is nothing to show."""
        made = Section(name, title, tuple(part for part in parts if part is not None), **more)
        return made if made.parts or made.lead or made.text else None

    @property
    def pictures(self) -> tuple[Picture, ...]:
        """Its pictures."""
        return tuple(part for part in self.parts if isinstance(part, Picture))

    @property
    def tables(self) -> tuple[ReportTable, ...]:
        """Its tables."""
        return tuple(part for part in self.parts if isinstance(part, ReportTable))


@dataclass(frozen=True, eq=False)
class Compared:
    """A comparison with what several sections ask of it, each worked out once."""

    folder: ComparisonFolder
    against: str = ""  # the entry that classifiers are held against

    @cached_property
    def results(self) -> Results:
        """Means, intervals and tests."""
        return summarise(self.folder)

    @property
    def crowded(self) -> bool:
        """Whether there are too many models for one chart."""
        return len(self.folder.models) > CROWD


def document(title: str, sub: str, sections: Iterable[Section | None]) -> str:
    """A whole page; the same sections give the same text. Every text is escaped, drawings are our own."""
    kept = [one for one in sections if one is not None]
    style = resources.files("murmura.report").joinpath("style.css").read_text(encoding="utf-8")
    tables = [table for one in kept for table in one.tables]
    heads = [column.title for table in tables for column in table.columns]
    names = [row[0].text for table in tables for row in table.rows]
    terms = terms_of([*heads, *names, *(one.title for one in kept)])  # what may need an explanation
    return rendered("page.html", title=title, sub=sub, sections=kept, style=style, terms=terms).lstrip()


def rendered(template: str, **values: Any) -> str:
    """A template with these values in their places; in HTML every text is escaped."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    engine = Environment(
        loader=PackageLoader("murmura.report"),
        autoescape=template.endswith(".html"),
        undefined=StrictUndefined,
        keep_trailing_newline=True,
    )
    engine.filters |= {"printable": printable, "files": _files}
    return engine.get_template(template).render(**values)


def _files(table: ReportTable) -> Iterator[tuple[str, str, str]]:
    """Links that save the table from the page itself, wherever it was sent: name of a file, format, data."""
    for end, form in FORMATS.items():
        data = base64.b64encode(form.write(table).encode()).decode()
        yield f"{table.name}.{end}", form.name, f"data:{form.media};base64,{data}"


def write_page(folder: Path, out: Path | None, text: str, sections: Iterable[Section | None]) -> Path:
    """Write a page to its place, and its tables beside it; a table of an earlier report that has gone goes."""
    page = folder / "report.html" if out is None else out / "report.html" if out.is_dir() else out
    place = page.with_name(f"{page.stem}-tables")
    tables = [table for one in sections if one is not None for table in one.tables]
    fresh = {f"{table.name}.{end}": form.write(table) for table in tables for end, form in FORMATS.items()}
    before = (place / LIST).read_text(encoding="utf-8").split() if (place / LIST).is_file() else []
    for name, content in {**fresh, LIST: "\n".join(fresh)}.items():
        write_whole(place / name, content.encode())
    for name in before:
        if name not in fresh and "/" not in name:
            (place / name).unlink(missing_ok=True)
    write_whole(page, text.encode())
    return page


def as_yaml(value: Any) -> str:
    """Plain values as a block of text; nothing where there are none."""
    text: str = yaml.safe_dump(value, sort_keys=False, allow_unicode=True) if value else ""
    return text.rstrip()
