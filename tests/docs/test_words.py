"""The table of words: the field's term on every page, in output, errors and names; no sentence is long.

`NAMES` is for parts of identifiers, `PHRASES` for pages and strings. A word may stay where `PUBLIC` says why:
what users or other machines know by it (flags, settings, JSON keys, wire fields) changes with a deprecation.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.docs.markdown_pages import ROOT, pages, without_code

SOURCE = ROOT / "src" / "murmura"
NAMES = {  # a private word as a part of a name: the field's
    "told": "on_progress, listener, message",
    "heard": "listener, message",
    "letter": "individual update",
    "letters": "individual updates",
    "liar": "malicious client",
    "liars": "malicious clients",
    "lies": "malicious clients",
    "wicked": "malicious",
    "twin": "reference implementation, centralised equivalent",
    "twins": "reference implementations, centralised equivalents",
    "breaker": "malformed client",
    "breakers": "malformed clients",
    "suspects": "candidates of a group test",
    "nobody": "EMPTY",
    "people": "clients, users",
    "workplace": "workspace, scratch buffers",
    "room": "workspace, scratch buffers",
    "pace": "polling interval",
    "objections": "device policy",
    "outgoing": "upload",
    "withholding": "non-disclosure policy",
    "withheld": "not disclosed",
    "spelling": "suggestions",
    "outlook": "utility forecast",
    "usual": "default",
    "ruled": "from_size_rule",
    "beside": "auxiliary, runner",
    "kept": "saved, published results",
    "repeats": "duplicates",
    "likes": "positives",
}
PHRASES = {  # a private word in a sentence: the field's
    r"\bliars?\b": "malicious or Byzantine clients",
    r"\bwicked\b": "malicious",
    r"\bletters? (?:in the clear|with noise|of a group)|\bnoisy letters?": "individual updates",
    r"\bbreakers?\b": "malicious device, group testing",
    r"\bvoid rounds?\b": "aborted round",
    r"\bexchanges? of the opening\b": "setup phase",
    r"\b(?:pooled|plain|slow|brute-force) twins?\b": "centralised equivalent, reference implementation",
    r"\bgives way to\b": "is quantised with fewer bits for",
    r"\bwhoever came between\b": "the clients that joined in between",
}
PUBLIC = {  # a name or a string that keeps its word: why
    "liars": "flag --liars and its key in audit.json",
    "repeats": "flag --repeats, key `repeats:` of a configuration",
    "beside": "flag --beside and its key in sweep.json",
    "people": "field of a federation's description and of terms' catalogue",
    "letters": "address POST /letters of the wire",
    "letter": "magic and refusals of the wire's readable message",
    "likes": "history.json and the page of the device",
    "kept": "keys of JSON that devices and runs have",
    "kept_back": "flag --keep-back of a device",
    "noise_outlook": "method of the public class Algorithm",
    "twin": "refusal `no-twin` of the wire",
    "people_per_reg": "setting of the methods with private counts",
    "check_room": "method of the public class MessageSpec",
    "test_the_withheld_item_of_the_checkerboard_comes_first": "check of the public AlgorithmKit",
    "test_unknown_people_and_empty_histories_are_answered": "check of the public AlgorithmKit",
}
LONGEST = 25  # words of a sentence of output
PROSE = [page for page in pages() if page.name != "CHANGELOG.md" and "decisions" not in page.parts]
ROOMS = sorted(path.name for path in SOURCE.iterdir() if path.is_dir() and path.name != "__pycache__")


def private_words(text: str) -> list[str]:
    """The private words of a page or a sentence, with the field's."""
    words = " ".join(re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL).split())
    found = ((pattern, one[0]) for pattern in PHRASES for one in re.finditer(pattern, words, re.IGNORECASE))
    return [f"'{one}': write {PHRASES[pattern]}" for pattern, one in found]


def parts(name: str) -> list[str]:
    """The words of a name in any case: `letterClip`, `LETTER_CLIP` and `_letter_clip` have the same two."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().strip("_").split("_")


def private_names(tree: ast.AST) -> list[str]:
    """Names that a file makes with a private word in them."""
    made = sorted({name for name in _made(tree) if name not in PUBLIC})
    return [f"{name}: {NAMES[part]}" for name in made for part in parts(name) if part in NAMES]


def _made(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.id if isinstance(node, ast.Name) else node.attr


def sentences_shown(tree: ast.AST) -> Iterator[str]:
    """The strings of a file that somebody may read: all of more than one word but docstrings and SQL."""
    hidden = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            hidden |= {id(one.value) for one in node.body if isinstance(one, ast.Expr)}
        if isinstance(node, ast.JoinedStr | ast.Constant) and id(node) not in hidden:
            text = _text(node)
            if " " in text and not re.match(r"(SELECT|INSERT|UPDATE|DELETE|CREATE) ", text):
                yield text


def _text(node: ast.AST) -> str:
    """A literal as it is shown; what is filled in counts as one word."""
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(one) if isinstance(one, ast.Constant) else "X" for one in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def long_sentences(tree: ast.AST) -> list[str]:
    shown = (one for text in sentences_shown(tree) for one in re.split(r"(?<=[.;?!])\s+|\n", text))
    return [one for one in shown if len(one.split()) > LONGEST]


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def files(room: str) -> list[Path]:
    return sorted((SOURCE / room).rglob("*.py"))


def within(path: Path, found: list[str]) -> list[str]:
    return [f"{path.relative_to(SOURCE)}: {one}" for one in found]


@pytest.mark.parametrize("page", PROSE, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_a_page_has_the_words_of_the_field(page: Path) -> None:
    assert private_words(without_code(page.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize("room", ROOMS)
def test_names_of_a_room_have_the_words_of_the_field(room: str) -> None:
    found = [one for path in files(room) for one in within(path, private_names(tree_of(path)))]
    stems = [path for path in files(room) if path.stem not in PUBLIC]
    found += [f"{path.relative_to(SOURCE)}" for path in stems if set(parts(path.stem)) & NAMES.keys()]
    assert found == []


def private_names_of_page(text: str) -> list[str]:
    """Names that TypeScript makes with a private word in them; what the page calls likes is its users' word."""
    kinds = r"(?:const|let|function|class|interface|type|enum)\s+([A-Za-z_$][\w$]*)"
    made = {one for one in re.findall(kinds, text) if one not in PUBLIC}
    return sorted(one for one in made if set(parts(one)) & (NAMES.keys() - {"likes", "letter"}))


def test_names_of_the_page_have_the_words_of_the_field() -> None:
    sources = [path for path in sorted((ROOT / "web").glob("[!n]*/**/*.ts*")) if "test" not in path.parts]
    assert len(sources) > 80
    found = {path.name: private_names_of_page(path.read_text(encoding="utf-8")) for path in sources}
    assert {name: words for name, words in found.items() if words} == {}
    assert [path.name for path in sources if set(parts(path.stem)) & NAMES.keys()] == []
    assert private_names_of_page("const usualWay = 1; export interface OutgoingMessage {}; let part = 2") == [
        "OutgoingMessage",
        "usualWay",
    ]


@pytest.mark.parametrize("room", ROOMS)
def test_output_and_errors_of_a_room_have_the_words_of_the_field(room: str) -> None:
    assert [
        one
        for path in files(room)
        for text in sentences_shown(tree_of(path))
        for one in within(path, private_words(text))
    ] == []


@pytest.mark.parametrize("room", ROOMS)
def test_no_sentence_of_output_is_long(room: str) -> None:
    assert [one for path in files(room) for one in within(path, long_sentences(tree_of(path)))] == []


WORSE = """
class NoisyLetters:
    def told(self, usual: int) -> None:
        self.few_people = usual
        say(f"{usual} liars broke the sum of an exchange of the opening, and nobody can say which of "
            "them it was, so that all of the devices of the round have to be asked once more.")
        raise ValueError("a void round: do it again")
"""


def test_what_was_said_before_is_found() -> None:
    tree = ast.parse(WORSE)
    assert [one.split(":")[0] for one in private_names(tree)] == ["NoisyLetters", "few_people", "told", "usual"]
    assert sorted(len(private_words(text)) for text in sentences_shown(tree)) == [1, 2]
    assert len(long_sentences(tree)) == 1
    assert private_words("A table gives way to\na large cohort.") != []
    assert parts("_letterClip") == parts("LETTER_CLIP") == ["letter", "clip"]
