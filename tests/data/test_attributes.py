"""What users say of themselves is read from a file, checked to the line and column."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from murmura.cli.app import app
from murmura.core.errors import DataError
from murmura.core.interactions import Vocabulary
from murmura.data.user_tables import attributes_of_file

USERS = Vocabulary(np.array([1, 2, 3]))


def written(folder: Path, text: str) -> Path:
    path = folder / "people.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_numbers_and_truth_are_read_for_known_users(tmp_path: Path) -> None:
    said = attributes_of_file(written(tmp_path, "trust,user,premium\n0.5,2,true\n1,1,False\n0,9,true\n"), USERS)
    np.testing.assert_array_equal(said["trust"], [1, 0.5, np.nan])
    np.testing.assert_array_equal(said["premium"], [0, 1, np.nan])


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("who,trust\n1,0.5\n", "must have a column 'user' and columns of attributes"),
        ("user\n1\n", "must have a column 'user' and columns of attributes"),
        ("user,trust\n1,0.5\n2,1.5\n", "line 3, column 'trust': an attribute must be a number from 0 to 1"),
        ("user,trust\n1,nan\n", "line 2, column 'trust'.*but is 'nan'"),
        ("user,trust\n9,yes\n", "line 2, column 'trust'.*but is 'yes'"),
        ("user,trust\n1\n", "line 2: a row must have 2 fields, but has 1"),
        ("user,trust\n1,0\n1,1\n", "line 3: a user must have one row, but '1' has another on line 2"),
    ],
)
def test_bad_values_are_refused_with_line_and_column(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(DataError, match=says):
        attributes_of_file(written(tmp_path, text), USERS)


def test_the_command_line_weighs_by_an_attribute(tmp_path: Path) -> None:
    people = "".join(f"{user},{'true' if user % 2 else 'false'}\n" for user in range(1000))
    path = written(tmp_path, "user,premium\n" + people)
    ran = ["fit", "--data", "checkerboard", "--model", "fcf", "-S", "rounds=2", "--attributes", str(path)]
    named = [*ran, "-S", "criteria=attribute:premium", "--out", str(tmp_path / "run")]
    done = CliRunner().invoke(app, named)
    assert done.exit_code == 0, done.output
    ledger = json.loads((tmp_path / "run" / "ledger.json").read_text(encoding="utf-8"))
    assert ledger["reveals"] == {
        "attribute:premium": "what the client says of its 'premium'; only sums over a round are read"
    }
    missing = CliRunner().invoke(app, [*ran, "-S", "criteria=trust", "--out", str(tmp_path / "other")])
    assert missing.exit_code != 0
    assert "must find an attribute 'trust' of the client, but it has premium" in str(missing.exception)
