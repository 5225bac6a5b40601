"""Splits in files: ours, one byte per row with the fingerprint of the data, and those of other tools."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal
from zipfile import BadZipFile

import numpy as np

from murmura.core.arrays import Bytes, Longs
from murmura.core.catalogue import TEST, TRAIN, VALIDATION, Split
from murmura.core.errors import DataError
from murmura.core.files import whole_file
from murmura.core.interactions import Interactions
from murmura.core.settings import settings
from murmura.data.list_files import Row, codes_in_file, format_named, write_rows
from murmura.data.tables.text_file import read_text

FORMAT = "murmura-split-1"


def save_split(path: Path, split: Split) -> None:
    """Write the parts, the name and the data's fingerprint to an `.npz` file, whole or not at all."""
    about = {
        "format": FORMAT,
        "name": split.name,
        "rows": len(split.data),
        "train": int((split.part == TRAIN).sum()),
        "validation": int((split.part == VALIDATION).sum()),
        "test": int((split.part == TEST).sum()),
        "fingerprint": split.data.fingerprint,
    }
    with whole_file(path, DataError) as file:
        np.savez_compressed(file, part=split.part, about=np.array(json.dumps(about)))


def load_split(path: Path, data: Interactions) -> Split:
    """The split that was saved, over the same data; refuses any other data."""
    about, part = _read_npz(path)
    if about.get("fingerprint") != data.fingerprint:
        raise DataError(
            f"{path}: the split belongs to data with fingerprint {str(about.get('fingerprint'))[:12]}…, but "
            f"this data has {data.fingerprint[:12]}…; load and filter the data as it was, or split it again."
        )
    if part.dtype != np.uint8 or part.shape != (len(data),) or (part > TEST).any():
        raise DataError(f"{path}: the split must say the part of {len(data)} rows, but does not; split again.")
    return Split(str(about.get("name")), data, part)


def describe_split(path: Path) -> dict[str, Any]:
    """What a split file says about itself."""
    return _read_npz(path)[0]


def _read_npz(path: Path) -> tuple[dict[str, Any], Any]:
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as kept:
            about, part = json.loads(str(kept["about"])), kept["part"]
    except FileNotFoundError:
        raise DataError(f"{path}: there is no such file; make it with `murmura data split`.") from None
    except (OSError, ValueError, KeyError, EOFError, TypeError, BadZipFile, zlib.error, NotImplementedError):
        raise DataError(f"{path}: it must be a saved split, but cannot be read as one; split again.") from None
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise DataError(f"{path}: it must be a saved split ({FORMAT}), but is something else; split again.")
    return about, part


PARTS, NOWHERE = (TRAIN, VALIDATION, TEST), 255
USERS, ITEMS = ("user_id", "user", "userid"), ("item_id", "item", "itemid")


def write_split(folder: Path, split: Split, form: str, name: str, relevant_from: float | None) -> list[Path]:
    """Write the parts as a tool reads them; for trec the judgements alone. The files that were written."""
    if form == "trec":
        path, test = folder / "qrels.txt", split.test
        relevant = test.value >= (-np.inf if relevant_from is None else relevant_from)
        names = test.users.labels[test.user].tolist(), test.items.labels[test.item].tolist()
        judged = ((user, 0, item, int(one)) for user, item, one in zip(*names, relevant.tolist()))
        write_rows(path, (), judged, " ")
        return [path]
    wanted = format_named(form)
    width = 3 if split.data.time is None else 4
    written = []
    for part, file in zip(PARTS, wanted.parts):
        rows = split.data.rows(split.part == part)
        if len(rows):
            written.append(folder / file.format(name=name))
            write_rows(written[-1], wanted.rows[:width], _rows(rows), wanted.separator)
    return written


def _rows(data: Interactions) -> Iterator[Row]:
    columns = [data.users.labels[data.user].tolist(), data.items.labels[data.item].tolist()]
    columns.append([f"{value:.12g}" for value in data.value.tolist()])
    yield from zip(*columns, *([] if data.time is None else [data.time.tolist()]))


@settings
class GivenSplit:
    """A split that was made elsewhere: an `.npz` of `murmura data split`, or a folder of another tool's files.

    The folder has train.tsv and test.tsv, perhaps validation.tsv (Elliot, WarpRec), or NAME.train.inter,
    NAME.test.inter, perhaps NAME.valid.inter (RecBole), or train.txt, test.txt, perhaps valid.txt (adjacency
    lists). Rows of the data that are in no file are left out; a row of a file that the data does not have, or
    that is in two files, is refused; only adjacency lists may repeat training rows for validation.
    """

    kind: Literal["given"] = "given"
    path: str

    def apply(self, data: Interactions) -> Split:
        """Give every row the part its file says."""
        from murmura.data import adjacency

        path = Path(self.path)
        if path.suffix == ".npz":
            return load_split(path, data)
        part: Bytes = np.full(len(data), NOWHERE, np.uint8)
        codes = data.user.astype(np.int64) * data.n_items + data.item
        order = np.argsort(codes, kind="stable")
        for which, file in zip(PARTS, _files(path)):
            if file is None:
                continue
            wanted = _pairs(file, data)
            place = np.minimum(np.searchsorted(codes[order], wanted), len(codes) - 1)
            rows = order[place]
            again = part[rows].copy()
            if file.name == adjacency.VALIDATION:
                again[again == TRAIN] = NOWHERE
            _refuse_strange(file, data, wanted, codes[rows], again)
            part[rows] = which
        kept = part != NOWHERE
        return Split(f"given({path.name})", data.rows(kept).compact(), part[kept])


def _files(folder: Path) -> tuple[Path, Path | None, Path]:
    """The files of training, validation and test."""
    from murmura.data import adjacency

    if not folder.is_dir():
        raise DataError(
            f"{folder}: a given split must be a folder of files or an .npz file, but it is neither."
        )
    atomic = sorted(folder.glob("*.train.inter"))
    if len(atomic) > 1:
        raise DataError(f"{folder}: a folder must hold one split, but has {len(atomic)} files *.train.inter.")
    if atomic:
        stem = atomic[0].name.removesuffix(".train.inter")
        train, validation, test = (folder / f"{stem}.{part}.inter" for part in ("train", "valid", "test"))
    elif adjacency.has_adjacency(folder):
        train, validation, test = (folder / name for name in adjacency.NAMES)
    else:
        train, validation, test = (folder / f"{part}.tsv" for part in ("train", "validation", "test"))
    for needed in (train, test):
        if not needed.is_file():
            raise DataError(f"{folder}: a given split must have {needed.name}, but has not; see docs/data.md.")
    return train, validation if validation.is_file() else None, test


def _pairs(file: Path, data: Interactions) -> Longs:
    """The pairs of a file as codes of the data."""
    from murmura.data import adjacency

    users, items, numbers = _adjacent(file) if file.name in adjacency.NAMES else _tabbed(file)
    must = "be in the data, but is not; name the data the split was made of"
    user = codes_in_file(file, data.users, users, numbers, "user", must)
    item = codes_in_file(file, data.items, items, numbers, "item", must)
    return user * data.n_items + item


Pairs = tuple[Sequence[Any], Sequence[Any], Sequence[int]]  # users, items, and on which lines they stand


def _adjacent(file: Path) -> Pairs:
    from murmura.data import adjacency

    found = adjacency.read_adjacency(read_text(file))
    return found.user.tolist(), found.item.tolist(), found.line.tolist()


def _tabbed(file: Path) -> Pairs:
    rows = [(number, line.split("\t")) for number, line in read_text(file).lines() if line.strip()]
    first = [field.partition(":")[0].lower() for field in rows[0][1]]
    if len(first) > 1 and first[0] in USERS and first[1] in ITEMS:
        del rows[0]
    short = next((number for number, fields in rows if len(fields) < 2), None)
    if short is not None:
        raise DataError(f"{file}, line {short}: a row must be a user, a tab and an item, but has no tab.")
    users, items = ([fields[place] for _, fields in rows] for place in (0, 1))
    return users, items, [number for number, _ in rows]


def _refuse_strange(file: Path, data: Interactions, wanted: Longs, found: Longs, part: Bytes) -> None:
    reasons = {
        "must be a row of the data, but is not": found != wanted,
        "is in two parts of the split": part != NOWHERE,
    }
    for why, wrong in reasons.items():
        if wrong.any():
            code = int(wanted[int(np.argmax(wrong))])
            user, item = data.users.labels[code // data.n_items], data.items.labels[code % data.n_items]
            raise DataError(f"{file}: the pair of user {user} and item {item} {why}.")
