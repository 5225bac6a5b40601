"""Rounds until a federation comes near its best, read off the curves of trials."""

from murmura.lab.analyses.training_sections import convergence, convergence_section
from murmura.report.table import to_csv
from murmura.studies.search.folder import Trial


def trial(row: str, curve: tuple[float, ...], **settings: object) -> Trial:
    return Trial(dict(settings), max(curve, default=0.0), model="sfpl", curve=curve, row=row)


TRIED = [
    trial("slow", (0.01, 0.02, 0.04, 0.05), rounds_per_epoch=100, clients=10, triples=1),
    trial("fast", (0.096, 0.1, 0.09), rounds_per_epoch=5, clients="all", triples=33),
    trial("no rounds said", (0.2,), rounds_per_epoch="visits"),
    trial("no curve", (), rounds_per_epoch=5),
]


def test_rounds_are_those_of_the_first_value_that_is_near() -> None:
    slow, fast = convergence(TRIED)
    assert (slow.rounds.tolist(), slow.best) == ([100, 200, 300, 400], 0.05)
    assert [slow.rounds_to(target) for target in (0.0, 0.02, 0.021, 0.05, 0.051)] == [100, 200, 300, 400, None]
    assert fast.rounds_to(0.095) == 5


def test_epochs_after_a_divergence_have_no_value() -> None:
    nan = float("nan")
    (broken,) = convergence(
        [trial("a", (0.1, nan), rounds_per_epoch=5), trial("b", (nan, nan), rounds_per_epoch=5)]
    )
    assert (broken.best, broken.rounds_to(0.05), broken.rounds_to(0.2)) == (0.1, 5, None)


def test_the_table_says_when_a_row_is_near_its_own_best_and_that_of_all() -> None:
    section = convergence_section(TRIED, "P@10")
    assert section is not None
    (table,), (picture,) = section.tables, section.pictures
    lines = [line.split(",") for line in to_csv(table).splitlines()]
    assert lines[1] == ["slow", "10", "1", "0.05", "400", "400", ""]
    assert lines[2] == ["fast", "all", "33", "0.1", "15", "5", "5"]
    assert "fast 0.1000" in picture.alt


def test_without_curves_there_is_no_section() -> None:
    assert convergence_section(TRIED[2:], "P@10") is None
