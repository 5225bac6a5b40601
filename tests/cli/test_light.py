"""The command line answers at once: tested as what is imported, not as time."""

import subprocess
import sys

import pytest

pytestmark = [pytest.mark.process, pytest.mark.smoke]

HEAVY = ("numba", "scipy", "polars", "pydantic", "matplotlib", "pandas", "torch", "yaml", "threadpoolctl")


def imported_after(code: str) -> set[str]:
    listing = "import sys; print(' '.join(sorted({name.partition('.')[0] for name in sys.modules})))"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{listing}"], capture_output=True, text=True, check=True
    )
    return set(done.stdout.splitlines()[-1].split())


def test_import_murmura_loads_only_the_standard_library() -> None:
    assert not imported_after("import murmura") & {*HEAVY, "numpy", "typer", "rich"}


def test_help_loads_no_heavy_part() -> None:
    code = """
import sys
sys.argv = ["murmura", "--help"]
from murmura.cli.app import main
import pytest
try:
    main()
except SystemExit as leaving:
    assert leaving.code in (0, None), leaving.code
"""
    assert not imported_after(code) & {*HEAVY, "numpy"}


def test_public_names_come_on_first_use() -> None:
    code = "import murmura; assert 'Interactions' in dir(murmura); murmura.Interactions"
    assert "numpy" in imported_after(code)
