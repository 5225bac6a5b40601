"""What the pages show of the Python API runs as it stands there."""

import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


def run_page(path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Every Python block of a page, one after the other, as one module."""
    module = ModuleType(f"page_{path.stem}")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    blocks = re.findall(r"```python\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block, str(path), "exec"), module.__dict__)
    return module.__dict__


def test_the_page_about_python_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    page = run_page(ROOT / "docs" / "python.md", monkeypatch)
    assert page["chosen"]["k"] in {2, 5, 10}
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()[-3:]] == [
        "user-knn",
        "sfpl+",
        "half",
    ]
    assert page["page"] == Path("runs/mine/report.html")
    assert "sfpl+" in page["page"].read_text(encoding="utf-8")
    assert page["fitted"].ledger.totals["bytes_up"] > 0


def test_the_five_lines_of_the_readme_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = run_page(ROOT / "README.md", monkeypatch)
    assert type(page["data"]).__name__ == "Dataset"
    shown = capsys.readouterr().out
    assert re.fullmatch(r"\{1: \[.+\], 2: \[.+\], 3: \[.+\]\}\n", shown)
    assert len(re.findall(r"\d+", shown)) == 3 * (1 + 5)
