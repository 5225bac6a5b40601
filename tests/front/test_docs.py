"""What the pages show of the Python API runs as it stands there."""

import re
from pathlib import Path
from typing import Any

import pytest

import murmura
from tests.front.running import run

ROOT = Path(__file__).parents[2]


def run_page(path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[dict[str, Any], str]:
    """What the Python of a page leaves behind, and what it prints."""
    blocks = re.findall(r"```python\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL)
    assert blocks
    page, printed = run(path, blocks, monkeypatch)
    return page, "".join(printed)


@pytest.mark.slow
def test_the_page_about_python_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page, shown = run_page(ROOT / "docs" / "python.md", monkeypatch)
    assert page["chosen"]["k"] in {2, 5, 10}
    assert [line.split()[0] for line in shown.splitlines()[-3:]] == [
        "user-knn",
        "sfpl+",
        "half",
    ]
    assert page["page"] == Path("runs/mine/report.html")
    assert "sfpl+" in page["page"].read_text(encoding="utf-8")
    assert page["fitted"].ledger.totals["bytes_up"] > 0


def test_the_five_lines_of_the_readme_federate(monkeypatch: pytest.MonkeyPatch) -> None:
    page, shown = run_page(ROOT / "README.md", monkeypatch)
    assert isinstance(page["model"], murmura.FederatedModel)
    assert page["model"].ledger.channel.startswith("secure-sum")
    lists, left = re.fullmatch(r"(\{1: \[.+\], 2: \[.+\], 3: \[.+\]\}) (\{.*\})\n", shown).groups()  # type: ignore[union-attr]
    assert len(re.findall(r"\d+", lists)) == 3 * (1 + 5)
    assert re.match(r"\{'disclosed': 0\.7\d+, 'exposed people': \d+\.0, 'kB up/client': ", left)


def test_the_people_of_the_operators_tutorial_have_two_tastes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run_page(ROOT / "docs" / "tutorials" / "operator.md", monkeypatch)
    likes = murmura.load(tmp_path / "likes.csv").interactions
    assert (likes.n_users, likes.n_items, len(likes)) == (60, 40, 60 * 12)
    assert not ((likes.user + likes.item) % 2).any()
