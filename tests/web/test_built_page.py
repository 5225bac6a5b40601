"""The page in the package is the one of its sources, is small, and says what was measured."""

from __future__ import annotations

import gzip
import hashlib
import json
from pathlib import Path

import pytest

from tests.docs.kept_numbers import agrees, claim, kept

ROOT = Path(__file__).parents[2]
WEB, BUILT = ROOT / "web", ROOT / "src/murmura/server/http/static"
# as web/vite.sw.config.ts has them
SOURCES = ("index.html", "package-lock.json", "vite.config.ts", "vite.sw.config.ts", "public", "src")
HEAVIEST = 99_000  # bytes of a first visit, compressed, without the model; 7,500 of them are for proofs


def built() -> dict[str, str]:
    """Every file's hash, as the build wrote it down."""
    files: dict[str, str] = json.loads((BUILT / "build.json").read_text(encoding="utf-8"))["files"]
    return files


def source_hash() -> str:
    """As web/vite.sw.config.ts computes it."""
    files = [WEB / name for name in SOURCES if "." in name]
    files += [path for name in SOURCES if "." not in name for path in (WEB / name).rglob("*") if path.is_file()]
    whole = hashlib.sha256()
    for name, path in sorted((path.relative_to(WEB).as_posix(), path) for path in files):
        whole.update(f"{name}\0".encode() + path.read_bytes() + b"\0")
    return whole.hexdigest()


def test_the_files_are_those_that_the_build_wrote_down() -> None:
    there = {path for path in BUILT.rglob("*") if path.is_file() and path.name != "build.json"}
    hashes = {path: hashlib.sha256(path.read_bytes()).hexdigest() for path in there}
    assert {f"/{path.relative_to(BUILT).as_posix()}": one for path, one in hashes.items()} == built()


def test_the_page_is_not_older_than_its_sources() -> None:
    told = json.loads((BUILT / "build.json").read_text(encoding="utf-8"))["sources"]
    assert told == source_hash(), "the page is not that of its sources: run make web"


def test_the_service_worker_keeps_every_other_file_by_its_hash() -> None:
    worker = (BUILT / "sw.js").read_text(encoding="utf-8")
    assert all(f'"{path}":"{one}"' in worker for path, one in built().items() if path != "/sw.js")


def test_a_first_visit_is_light() -> None:
    weight = sum(len(gzip.compress((BUILT / path[1:]).read_bytes(), 9, mtime=0)) for path in built())
    assert weight < HEAVIEST


def test_the_page_names_no_other_host() -> None:
    page = (BUILT / "index.html").read_text(encoding="utf-8") + (BUILT / "assets/app.css").read_text("utf-8")
    assert "//" not in page.replace("http://www.w3.org/2000/svg", "")


def measured() -> list[tuple[str, float]]:
    told = json.loads((WEB / "src/ui/measured.json").read_text(encoding="utf-8"))
    audit = "audit-sums.csv; data=ml-1m; method={method}; cohort={cohort}; epsilon={noise}; "
    audit += "attack=sum-matched; pm-AUC"
    lists = "sums.csv; data=ml-1m; order=day; model={method}{share}; P@10"
    odds = [(audit.format(**one, noise=one["epsilon"] or "none"), one["value"]) for one in told["observer"]]
    shares = ["" if one["pi"] == 1 else f" pi={one['pi']}" for one in told["everyone"]]
    hits = [(lists.format(**one, share=share), one["value"]) for one, share in zip(told["everyone"], shares)]
    level = "privacy-levels.csv; data=ml-1m; method={method}; pi={pi}; epsilon={noise}; "
    prices = [
        (level.format(**one, noise=one["epsilon"] or "none") + column, one[column])
        for one in told["levels"]
        for column in ("without", "lists", "found")
    ]
    return [*odds, *hits, *prices]


@pytest.mark.parametrize(("source", "value"), measured(), ids=lambda one: str(one))
def test_what_the_page_says_was_measured_is_kept(source: str, value: float) -> None:
    file, _, picks = source.partition(";")
    meant = claim(file, picks, [])
    (metric, column) = meant.places[0]
    (line,) = meant.lines(metric)
    found = kept(line, column)
    assert found is not None
    assert agrees(str(value), found)
