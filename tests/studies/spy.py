"""A program: searches with a method that looks for test rows everywhere in its process. Prints what it saw."""

import gc
import json
import sys
from pathlib import Path
from typing import Any

from murmura.baselines.neighbours import UserKnn
from murmura.core.catalogue import Split
from murmura.core.interactions import Interactions
from murmura.core.model import Model
from murmura.data.sources.registry import load
from murmura.engine.prepared import whole_split
from murmura.engine.protocol import protocol
from murmura.engine.run_folder import Run
from murmura.studies.configuration import DataConfig
from murmura.studies.search.folder import CHOICE
from murmura.studies.search.run import SearchConfig, search_run

SEEN: list[tuple[int, int]] = []  # tables met, tables that hold a test pair
FILE = Path(sys.argv[1])


def held_pairs() -> set[tuple[str, str]]:
    """Read again from the file in a place of its own, and thrown away before anything is looked at."""
    dataset = load(str(FILE), None)
    return ids(whole_split(dataset, protocol("default", dataset)).test)


def ids(rows: Interactions) -> set[tuple[str, str]]:
    return set(zip(rows.users.labels[rows.user].tolist(), rows.items.labels[rows.item].tolist()))


def look() -> tuple[int, int]:
    """Every table of interactions the process holds: all objects, and what the frames name."""
    held = held_pairs()
    gc.collect()
    found: dict[int, Any] = {id(one): one for one in gc.get_objects() if isinstance(one, Interactions | Split)}
    frame: Any = sys._getframe()
    while frame is not None:
        found |= {id(one): one for one in frame.f_locals.values() if isinstance(one, Interactions | Split)}
        frame = frame.f_back
    tables = [one.data if isinstance(one, Split) else one for one in found.values()]
    return len(tables), sum(bool(ids(rows) & held) for rows in tables)


BLIND = UserKnn.fit


def with_eyes(self: UserKnn, *given: Any, **more: Any) -> Model:
    """User-kNN that looks around before it is fitted."""
    seen = look()
    SEEN.append(seen)
    if seen[1]:
        raise RuntimeError(f"{seen[1]} tables hold test rows")  # a worker that sees some says so
    return BLIND(self, *given, **more)


UserKnn.fit = with_eyes  # type: ignore[method-assign,assignment]  # in workers too: this is their main module


def main() -> None:
    config = SearchConfig(data=DataConfig(name=str(FILE)), search="user-knn", space={"k": [1, 2, 5]})
    list(search_run(config, Path(sys.argv[2]), workers=int(sys.argv[3])))
    run, prepared = Run.open(Path(sys.argv[2])), config.data.prepare(config.protocol)
    before = look() if int(sys.argv[3]) > 1 else SEEN[-1]
    split = prepared.open(run, {"model": {"name": "user-knn", **run.read(CHOICE)["settings"]}})
    control = look()[1]
    assert len(split.test)
    held = max((seen[1] for seen in SEEN), default=0)
    print(json.dumps({"tables": before[0], "held": held, "control": control}))


if __name__ == "__main__":
    main()
