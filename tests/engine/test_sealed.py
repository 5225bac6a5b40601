"""The test part is opened once, for a choice that is written down: every way around it is tried."""

import ast
import copy
import gc
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from murmura.core.catalogue import TEST, Split
from murmura.core.errors import RunError
from murmura.core.interactions import Interactions
from murmura.engine.prepared import FILE, PreparedData, prepare, refuse_opened, whole_split
from murmura.engine.protocol import protocol
from murmura.engine.run_folder import Run
from murmura.lab.papers.experiments import experiment, experiment_names
from tests.studies.worlds import small_world

SOURCE = Path(__file__).parents[2] / "src" / "murmura"
CHOICE = {"model": {"name": "ease", "reg": 100}}


def ready() -> PreparedData:
    world = small_world()
    return prepare(world, protocol("default", world))


def whole() -> Split:
    world = small_world()
    return whole_split(world, protocol("default", world))


def new_run(folder: Path) -> Run:
    return Run.create(folder, {"some": "configuration"})


def pairs(rows: Interactions) -> set[tuple[int, int]]:
    return set(zip(rows.user.tolist(), rows.item.tolist()))


def reached(start: object) -> list[Interactions]:
    """Every table of interactions that can be reached from a value, however deep."""
    seen: set[int] = set()
    waiting: list[object] = [start]
    found = []
    while waiting:
        one = waiting.pop()
        if id(one) in seen or isinstance(one, type) or hasattr(one, "__loader__"):
            continue
        seen.add(id(one))
        if isinstance(one, Interactions):
            found.append(one)
        if isinstance(one, np.ndarray) and one.base is not None:
            waiting.append(one.base)  # a view must not be one of the whole
        if type(one).__module__.startswith("murmura") or isinstance(one, dict | list | tuple | set):
            waiting.extend(gc.get_referents(one))
    return found


def holds(array_of: Interactions, held: set[tuple[int, int]]) -> bool:
    return bool(pairs(array_of) & held)


def test_what_is_fitted_and_chosen_on_has_no_way_to_the_test_rows() -> None:
    held = pairs(whole().test)
    prepared = ready()
    assert held
    for start in (prepared.split, prepared.split.train, prepared.selection(), prepared.catalogue):
        tables = reached(start)
        assert tables or start is prepared.catalogue
        assert not any(holds(rows, held) for rows in tables)
    assert any(holds(rows, held) for rows in reached(whole()))  # the search itself can find them
    size = len(whole().data)
    for column in (prepared.split.train.user, prepared.split.train.item, prepared.split.part):
        base: Any = column
        while base is not None:  # no view into the columns of the whole
            assert len(base) < size
            base = base.base


def test_the_sealed_split_says_where_the_door_is() -> None:
    split = ready().split
    with pytest.raises(RunError, match="open it once with"):
        _ = split.test
    assert not (split.part == TEST).any()
    assert pairs(split.train) == pairs(whole().train)
    assert (split.selection().part == whole().selection().part).all()


def test_a_choice_opens_it_and_is_written_down_first(tmp_path: Path) -> None:
    prepared, run = ready(), new_run(tmp_path / "run")
    split = prepared.open(run, CHOICE)
    assert pairs(split.test) == pairs(whole().test)
    kept = run.read(FILE)
    assert kept["choice"] == CHOICE
    assert kept["fingerprint"] == whole().data.fingerprint
    assert kept["test rows"] == len(whole().test)
    assert prepared.open(run, CHOICE) is split  # a resumed run opens for the same choice


def test_a_second_choice_is_refused(tmp_path: Path) -> None:
    prepared, run = ready(), new_run(tmp_path / "run")
    prepared.open(run, CHOICE)
    other = {"model": {"name": "ease", "reg": 200}}
    with pytest.raises(RunError, match="must be opened for one choice"):
        prepared.open(new_run(tmp_path / "elsewhere"), other)  # another folder does not help
    with pytest.raises(RunError, match="start in a new folder"):
        ready().open(run, other)  # nor does preparing the data anew
    assert run.read(FILE)["choice"] == CHOICE


def test_another_cut_of_the_data_is_another_choice(tmp_path: Path) -> None:
    run = new_run(tmp_path / "run")
    ready().open(run, CHOICE)
    split = whole()
    moved = split.part.copy()
    moved[[np.flatnonzero(moved == TEST)[0], np.flatnonzero(moved == 0)[0]]] = [0, TEST]
    world = small_world()
    rules = protocol("default", world)
    with pytest.raises(RunError, match="for another"):
        PreparedData("small-world", rules, Split(split.name, split.data, moved), world.catalogue).open(
            run, CHOICE
        )


def test_nothing_is_chosen_after_the_opening(tmp_path: Path) -> None:
    prepared, run = ready(), new_run(tmp_path / "run")
    refuse_opened(run)
    prepared.open(run, CHOICE)
    with pytest.raises(RunError, match="before the test part is opened"):
        prepared.selection()
    with pytest.raises(RunError, match="search in a new folder"):
        refuse_opened(run)


def test_a_choice_that_cannot_be_written_down_opens_nothing(tmp_path: Path) -> None:
    prepared = ready()
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(RunError):
        prepared.open(Run(tmp_path / "file"), CHOICE)
    assert not prepared.sealed.is_open
    prepared.selection()


def test_it_cannot_be_sent_or_copied() -> None:
    prepared = ready()
    for way in (pickle.dumps, copy.deepcopy, copy.copy):
        with pytest.raises(RunError, match="must stay where it was cut"):
            way(prepared.sealed)
    with pytest.raises(RunError, match="must stay where it was cut"):
        pickle.dumps(prepared)
    sent = pickle.loads(pickle.dumps(prepared.selection()))
    assert not any(holds(rows, pairs(whole().test)) for rows in reached(sent))


def attributes(tree: ast.AST, name: str) -> list[int]:
    """Where an attribute of that name is read from something that is not `self`."""
    return [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and node.attr == name
        and not (isinstance(node.value, ast.Name) and node.value.id == "self")
    ]


def test_no_study_reaches_for_the_test_part_on_its_own() -> None:
    """Only the seal, what scores or writes an opened split and the metrics read `.test`; nobody else cuts.

    NCF's files give the negatives of the rows that they are asked to score. The leak of published samplers cuts
    the whole: it is what an experiment measures, off unless a row sets `leak`, and its rows are named for it.
    Reports have values called test of their own; they see run folders, never a split.
    """
    may_read = {
        "engine/experiment.py", "engine/prepared.py",
        "evaluation/relevance.py", "data/splits/split_files.py",
        "lab/classification/classified_samples.py", "lab/groups/group_results.py",
        "lab/rivals/ncf_files.py",
    }  # fmt: skip
    readers, cutters = set(), set()
    for path in SOURCE.rglob("*.py"):
        place = path.relative_to(SOURCE).as_posix()
        tree = ast.parse(path.read_text(encoding="utf-8"))
        if attributes(tree, "test") and not place.startswith(("report/", "lab/papers/")):
            readers.add(place)
        names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        if {"whole_split", "Sealed"} & names:
            cutters.add(place)
    assert readers == may_read
    assert cutters == {"engine/prepared.py", "lab/rivals/federated/samples.py"}
    leaking = [
        label
        for name in experiment_names()
        for label, row in experiment(name).rows.items()
        if "leak" in row.settings
    ]
    assert leaking
    assert all("leaking" in label for label in leaking)
