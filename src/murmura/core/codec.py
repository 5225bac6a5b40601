"""Updates and public models as bytes: little-endian, rows in ascending order, exact lengths.

A message is 'm' 'u' version, number of tables, mark of the declaration (4 bytes); then the scalars as doubles;
then for each table its number of rows (4 bytes), the row numbers (4 bytes each, not for dense tables) and the
values. Rows travel sorted by their number: the order of training would tell which items were compared.
Before the values k of a model's int8 table stands its exponent e (1 byte, signed): they are k 2**e.
A model travels whole, or as what changed: 'm' 'c' and the same header, the SHA-256 of the whole message of the
model it changes (32 bytes), then for each table the number of changed rows, their numbers and their values.
A reader trusts no length: it checks the whole message against the declaration before it makes an array.
`RowVersions` say when each row last changed: enough to tell anyone who has an older model what is missing.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmura.core.arrays import Bools, Ints, Longs
from murmura.core.errors import FederationError
from murmura.core.message import (
    COUNT_BYTES,
    HASH_BYTES,
    HEADER_BYTES,
    INDEX_BYTES,
    SCALAR_BYTES,
    MessageSpec,
    TableSpec,
)
from murmura.core.update import Arrays, SparseRows, Update

MAGIC, CHANGES, VERSION = b"mu", b"mc", 2
_HEADER = struct.Struct("<2sBBI")
_COUNT = struct.Struct("<I")
LARGEST_EXPONENT = 121  # of a table of int8: none of its numbers is beyond float32


def encode(update: Update, sends: MessageSpec) -> bytes:
    """The update as it travels; refuses what is not declared."""
    sends.check(update)
    parts = [_header(sends), *(struct.pack("<d", update.scalars[name]) for name in sends.scalars)]
    for table in sends.tables:
        rows = update.tables[table.name]
        parts.append(_COUNT.pack(len(rows)))
        if table.space != "dense":
            parts.append(rows.index.astype("<u4").tobytes())
        parts.append(_little(rows.values))
    return b"".join(parts)


def decode(message: bytes, sends: MessageSpec) -> Update:
    """The update that was sent; refuses anything a well-behaved client cannot have sent."""
    reader = _Reader(message, sends)
    at = reader.passed(SCALAR_BYTES * len(sends.scalars), "scalars")
    scalars = dict(zip(sends.scalars, struct.unpack_from(f"<{len(sends.scalars)}d", message, at)))
    tables: dict[str, SparseRows] = {}
    for table in sends.tables:
        count = reader.count(table, table.rows)
        dense = table.space == "dense"
        index = np.arange(count, dtype=np.int32) if dense else reader.index(table, count)
        tables[table.name] = SparseRows(index, reader.values(table, count))
    reader.end()
    update = Update(tables, scalars)
    sends.check(update)
    return update


def encode_model(model: Arrays, publishes: MessageSpec, listed: Ints) -> bytes:
    """The public model, the same bytes for everyone: of item tables only the items on offer."""
    parts = [_header(publishes)]
    for table in publishes.tables:
        values = _published(model, table, listed)
        parts += [_COUNT.pack(len(values)), *_packed(values, table, _exponent(values, table))]
    return b"".join(parts)


def decode_model(message: bytes, publishes: MessageSpec, listed: Ints) -> dict[str, NDArray[Any]]:
    """The tables of a public model, (rows, width) each; items not on offer hold zeros."""
    reader = _Reader(message, publishes)
    model: dict[str, NDArray[Any]] = {}
    for table in publishes.tables:
        here = _row_numbers(table, listed)
        count = reader.count(table, len(here))
        if count != len(here):
            raise FederationError(
                f"the model's '{table.name}' must have {len(here)} rows, but the message has {count}."
            )
        values = reader.model_values(table, count)
        model[table.name] = np.zeros((table.rows, table.width), values.dtype)
        model[table.name][here] = values
    reader.end()
    return model


def encode_changes(base: Arrays, model: Arrays, publishes: MessageSpec, listed: Ints) -> bytes:
    """The rows of a public model that differ in any bit from `base`, for whoever has that."""
    named = hashlib.sha256(encode_model(base, publishes, listed)).digest()
    return encode_rows(named, changed_rows(base, model, publishes, listed), model, publishes, listed)


def changed_rows(base: Arrays, model: Arrays, publishes: MessageSpec, listed: Ints) -> dict[str, Bools]:
    """Of the rows of every table that travel, those that differ in any bit from `base`: (rows that travel,)."""
    changed: dict[str, Bools] = {}
    for table in publishes.tables:
        old, new = (np.ascontiguousarray(_published(arrays, table, listed)) for arrays in (base, model))
        bits = old.view(np.uint8) != new.view(np.uint8)
        changed[table.name] = bits.reshape(len(old), -1).any(axis=1)
    return changed


def encode_rows(
    base: bytes, changed: Mapping[str, Bools], model: Arrays, publishes: MessageSpec, listed: Ints
) -> bytes:
    """Some rows of a public model, for whoever has the model of the hash `base` and lacks these."""
    parts = [_header(publishes, CHANGES), base]
    for table in publishes.tables:
        here, values = changed[table.name], _published(model, table, listed)
        numbers = _row_numbers(table, listed)[here]
        parts += [_COUNT.pack(len(numbers)), numbers.astype("<u4").tobytes()]
        parts += _packed(values[here], table, _exponent(values, table))
    return b"".join(parts)


def decode_changes(
    message: bytes, base: Arrays, publishes: MessageSpec, listed: Ints
) -> dict[str, NDArray[Any]]:
    """What `decode_model` gives of the whole message; refuses changes of another model than `base`."""
    reader = _Reader(message, publishes, CHANGES)
    at = reader.passed(HASH_BYTES, "base")
    named, stated = (
        hashlib.sha256(encode_model(base, publishes, listed)).digest(),
        message[at : at + HASH_BYTES],
    )
    if stated != named:
        raise FederationError(
            f"changes must be of the model {named.hex()[:16]} that is here, but are of {stated.hex()[:16]}; "
            "download the whole model."
        )
    model: dict[str, NDArray[Any]] = {}
    for table in publishes.tables:
        there = _row_numbers(table, listed)
        index = reader.index(table, reader.count(table, len(there)))
        if (np.diff(index) <= 0).any() or not np.isin(index, there).all():
            raise FederationError(
                f"the changed rows of '{table.name}' must be on offer and ascend, but do not; download the "
                "whole model."
            )
        values = reader.model_values(table, len(index))
        model[table.name] = np.zeros((table.rows, table.width), values.dtype)
        model[table.name][there] = _published(base, table, listed)
        model[table.name][index] = values
    reader.end()
    return model


def downloaded_model(model: Arrays, downloads: MessageSpec, listed: Ints) -> dict[str, NDArray[Any]]:
    """The model as devices get it in these numbers, in its own types and shapes again."""
    got = dict(model)
    for table in downloads.tables:
        own = model[table.name]
        if own.dtype == table.dtype:
            continue
        whole = own.reshape(table.rows, table.width).copy()
        whole[_row_numbers(table, listed)] = _published(model, table, listed).astype(own.dtype)
        got[table.name] = whole.reshape(own.shape)
    return got


def _published(model: Arrays, table: TableSpec, listed: Ints) -> NDArray[Any]:
    """The rows of a table that travel, in the numbers they travel in; of int8 what its numbers stand for."""
    values = model[table.name].reshape(table.rows, table.width)
    values = values[listed] if table.space == "item" else values
    if table.dtype == "int8":
        exponent = _exponent(values, table)
        return _multiples(_whole_numbers(values, exponent), exponent)
    if table.dtype == "float16":
        with np.errstate(over="ignore"):
            values = values.astype(np.float16)
        if not np.isfinite(values).all():
            raise FederationError(
                f"the model's '{table.name}' must stay below 65520 to travel as float16, but does not; "
                "download it exact."
            )
    if values.dtype != table.dtype:
        raise FederationError(f"the model's '{table.name}' must be {table.dtype}, but is {values.dtype}.")
    return values


def _exponent(values: NDArray[Any], table: TableSpec) -> int:
    """The least e of an int8 table with |x| <= 127 * 2**e; that of rounded values is the same."""
    if table.dtype != "int8":
        return 0
    fraction, power = np.frexp(np.float64(np.abs(values).max(initial=0.0)))
    e = int(power) - 7 + bool(fraction > 127 / 128)
    if not np.isfinite(fraction) or e > LARGEST_EXPONENT:
        raise FederationError(
            f"the model's '{table.name}' must stay below 127 * 2**{LARGEST_EXPONENT} to travel as int8, but "
            "does not; download it exact."
        )
    return max(e, -128) if fraction else 0


def _whole_numbers(values: NDArray[Any], exponent: int) -> NDArray[np.int8]:
    return np.rint(np.ldexp(values.astype(np.float64), -exponent)).astype(np.int8)


def _multiples(numbers: NDArray[np.int8], exponent: int) -> NDArray[np.float32]:
    return np.ldexp(numbers.astype(np.float32), exponent)


def _packed(values: NDArray[Any], table: TableSpec, exponent: int) -> tuple[bytes, bytes]:
    """The exponent of an int8 table, and published rows as they travel."""
    if table.dtype != "int8":
        return b"", _little(values)
    return struct.pack("<b", exponent), _little(_whole_numbers(values, exponent))


def _row_numbers(table: TableSpec, listed: Ints) -> Ints:
    """The numbers of the rows of a table that a public model has."""
    return listed if table.space == "item" else np.arange(table.rows, dtype=np.int32)


def _header(declared: MessageSpec, magic: bytes = MAGIC) -> bytes:
    return _HEADER.pack(magic, VERSION, len(declared.tables), declared.mark)


class _Reader:
    """A message while it is read, from its header on; no length in it is trusted."""

    def __init__(self, message: bytes, declared: MessageSpec, expected: bytes = MAGIC) -> None:
        self.message, self.at = message, 0
        magic, version, tables, mark = _HEADER.unpack_from(message, self.passed(HEADER_BYTES, "header"))
        if magic != expected or version != VERSION:
            raise FederationError(
                f"a message must begin with {expected!r} and version {VERSION}, but begins with "
                f"{message[:3]!r}."
            )
        if tables != len(declared.tables) or mark != declared.mark:
            raise FederationError(
                f"a message must follow the declaration {declared.mark:08x} with {len(declared.tables)} "
                f"tables, but follows {mark:08x} with {tables}; both sides need the same configuration."
            )

    def passed(self, length: int, what: str) -> int:
        """Where a part of this length begins, which is passed over."""
        at, self.at = self.at, self.at + length
        if len(self.message) < self.at:
            raise FederationError(
                f"a message must be at least {self.at} bytes long to hold its {what}, but has "
                f"{len(self.message)}."
            )
        return at

    def count(self, table: TableSpec, most: int) -> int:
        at = self.passed(COUNT_BYTES, f"number of rows of '{table.name}'")
        (count,) = _COUNT.unpack_from(self.message, at)
        if count > most:
            raise FederationError(
                f"'{table.name}' must have at most {most} rows, but the message claims {count}."
            )
        return int(count)

    def index(self, table: TableSpec, count: int) -> Ints:
        at = self.passed(count * INDEX_BYTES, f"row numbers of '{table.name}'")
        wide = np.frombuffer(self.message, "<u4", count, at)
        if count and wide.max() >= table.rows:
            raise FederationError(
                f"the row numbers of '{table.name}' must stay below {table.rows}, but one is {wide.max()}."
            )
        return wide.astype(np.int32)

    def values(self, table: TableSpec, count: int) -> NDArray[Any]:
        at = self.passed(count * table.value_bytes, f"values of '{table.name}'")
        kind = np.dtype(table.dtype).newbyteorder("<")
        values = np.frombuffer(self.message, kind, count * table.width, at).reshape(count, table.width)
        return values.astype(table.dtype)

    def model_values(self, table: TableSpec, count: int) -> NDArray[Any]:
        """Rows of a public model: of an int8 table what its numbers stand for."""
        if table.dtype != "int8":
            return self.values(table, count)
        at = self.passed(table.exponent_bytes, f"exponent of '{table.name}'")
        (exponent,) = struct.unpack_from("<b", self.message, at)
        if exponent > LARGEST_EXPONENT:
            raise FederationError(
                f"the exponent of '{table.name}' must be at most {LARGEST_EXPONENT}, but is {exponent}."
            )
        return _multiples(self.values(table, count), exponent)

    def end(self) -> None:
        if len(self.message) != self.at:
            raise FederationError(f"a message must end after {self.at} bytes, but has {len(self.message)}.")


def _little(values: NDArray[Any]) -> bytes:
    return values.astype(values.dtype.newbyteorder("<"), copy=False).tobytes()


REMEMBERED = 1024  # models; whoever has an older one downloads the whole


@dataclass(frozen=True, eq=False)
class RowVersions:
    """The models there have been so far, and in which of them each row changed last."""

    downloads: MessageSpec  # how a model travels
    listed: Ints  # the items on offer
    number: int  # of the newest model, counted from 0
    last: Mapping[str, Longs]  # by table: (rows that travel,)
    oldest: int = 0  # the first model of this declaration; earlier ones have no row of it

    @staticmethod
    def first(downloads: MessageSpec, listed: Ints, number: int = 0) -> RowVersions:
        """The first model of a declaration."""
        sizes = {t.name: len(listed) if t.space == "item" else t.rows for t in downloads.tables}
        last = {name: np.full(n, number, np.int64) for name, n in sizes.items()}
        return RowVersions(downloads, listed, number, last, number)

    def moved(self, before: Arrays, after: Arrays) -> RowVersions:
        """After the next model."""
        changed, new = changed_rows(before, after, self.downloads, self.listed), self.number + 1
        last = {name: np.where(changed[name], new, known) for name, known in self.last.items()}
        return replace(self, number=new, last=last)

    def missing(self, base: int) -> tuple[int, int]:
        """Rows and bytes that take someone from a model to the newest: of the whole where that is shorter."""
        changed = self._since(base)
        counts = {name: int(rows.sum()) for name, rows in (changed or {}).items()}
        if changed is not None and not any(counts.values()):
            return 0, 0
        whole = self.downloads.model_bytes(len(self.listed))
        if changed is None or (length := self.downloads.changes_bytes(counts)) >= whole:
            return max(map(len, self.last.values()), default=0), whole
        return max(counts.values()), length

    def message(self, base: int, named: bytes, model: Arrays) -> bytes | None:
        """What changed since the model of the hash `named`; None: nothing, or the whole is as short."""
        changed, (_, length) = self._since(base), self.missing(base)
        if changed is None or length in (0, self.downloads.model_bytes(len(self.listed))):
            return None
        return encode_rows(named, changed, model, self.downloads, self.listed)

    def _since(self, base: int) -> dict[str, Bools] | None:
        """Which rows changed since a model, by table; None of one that is not remembered."""
        if not max(self.oldest, self.number - REMEMBERED) <= base <= self.number:
            return None
        return {name: known > base for name, known in self.last.items()}
