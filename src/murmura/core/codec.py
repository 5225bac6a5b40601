"""Updates and public models as bytes: little-endian, rows in ascending order, exact lengths.

A message is 'm' 'u' version, number of tables, mark of the declaration (4 bytes); then the scalars as doubles;
then for each table its number of rows (4 bytes), the row numbers (4 bytes each, not for dense tables) and the
values. Rows travel sorted by their number: the order of training would tell which items were compared.
A reader trusts no length: it checks the whole message against the declaration before it makes an array.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmura.core.arrays import Ints
from murmura.core.errors import FederationError
from murmura.core.message import COUNT_BYTES, HEADER_BYTES, INDEX_BYTES, SCALAR_BYTES, MessageSpec, TableSpec
from murmura.core.update import Arrays, SparseRows, Update

MAGIC, VERSION = b"mu", 1
_HEADER = struct.Struct("<2sBBI")
_COUNT = struct.Struct("<I")


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
    _check_header(message, sends)
    at = HEADER_BYTES
    _require(len(message), at + SCALAR_BYTES * len(sends.scalars), "scalars")
    scalars = dict(zip(sends.scalars, struct.unpack_from(f"<{len(sends.scalars)}d", message, at)))
    at += SCALAR_BYTES * len(sends.scalars)
    tables: dict[str, SparseRows] = {}
    for table in sends.tables:
        tables[table.name], at = _read_rows(message, at, table)
    _finish(message, at)
    update = Update(tables, scalars)
    sends.check(update)
    return update


def encode_model(model: Arrays, publishes: MessageSpec, listed: Ints) -> bytes:
    """The public model, the same bytes for everyone: of item tables only the items on offer."""
    parts = [_header(publishes)]
    for table in publishes.tables:
        values = model[table.name].reshape(table.rows, table.width)
        values = _narrow(table.name, values) if table.dtype == "float16" else values
        if values.dtype != table.dtype:
            raise FederationError(f"the model's '{table.name}' must be {table.dtype}, but is {values.dtype}.")
        values = values[listed] if table.space == "item" else values
        parts += [_COUNT.pack(len(values)), _little(values)]
    return b"".join(parts)


def decode_model(message: bytes, publishes: MessageSpec, listed: Ints) -> dict[str, NDArray[Any]]:
    """The tables of a public model, (rows, width) each; items not on offer hold zeros."""
    _check_header(message, publishes)
    at = HEADER_BYTES
    model: dict[str, NDArray[Any]] = {}
    for table in publishes.tables:
        here = listed if table.space == "item" else np.arange(table.rows, dtype=np.int32)
        count, at = _read_count(message, at, table, len(here))
        if count != len(here):
            raise FederationError(
                f"the model's '{table.name}' must have {len(here)} rows, but the message has {count}."
            )
        values, at = _read_values(message, at, table, count)
        model[table.name] = np.zeros((table.rows, table.width), table.dtype)
        model[table.name][here] = values
    _finish(message, at)
    return model


def half_precision_model(model: Arrays) -> dict[str, NDArray[Any]]:
    """The model as devices get it that download float16: rounded to it, in the model's own type again."""
    return {
        name: _narrow(name, values).astype(values.dtype) if values.dtype.kind == "f" else values
        for name, values in model.items()
    }


def _narrow(name: str, values: NDArray[Any]) -> NDArray[np.float16]:
    with np.errstate(over="ignore"):
        narrow = values.astype(np.float16)
    if not np.isfinite(narrow).all():
        raise FederationError(
            f"the model's '{name}' must stay below 65520 to travel as float16, but does not; download it exact."
        )
    return narrow


def _header(declared: MessageSpec) -> bytes:
    return _HEADER.pack(MAGIC, VERSION, len(declared.tables), declared.mark)


def _check_header(message: bytes, declared: MessageSpec) -> None:
    _require(len(message), HEADER_BYTES, "header")
    magic, version, tables, mark = _HEADER.unpack_from(message)
    if magic != MAGIC or version != VERSION:
        raise FederationError(
            f"a message must begin with {MAGIC!r} and version {VERSION}, but begins with {message[:3]!r}."
        )
    if tables != len(declared.tables) or mark != declared.mark:
        raise FederationError(
            f"a message must follow the declaration {declared.mark:08x} with {len(declared.tables)} tables, "
            f"but follows {mark:08x} with {tables}; both sides need the same configuration."
        )


def _read_rows(message: bytes, at: int, table: TableSpec) -> tuple[SparseRows, int]:
    count, at = _read_count(message, at, table, table.rows)
    if table.space == "dense":
        index = np.arange(count, dtype=np.int32)
    else:
        _require(len(message), at + count * INDEX_BYTES, f"row numbers of '{table.name}'")
        wide = np.frombuffer(message, "<u4", count, at)
        if count and wide.max() >= table.rows:
            raise FederationError(
                f"the row numbers of '{table.name}' must stay below {table.rows}, but one is {wide.max()}."
            )
        index = wide.astype(np.int32)
        at += count * INDEX_BYTES
    values, at = _read_values(message, at, table, count)
    return SparseRows(index, values), at


def _read_count(message: bytes, at: int, table: TableSpec, most: int) -> tuple[int, int]:
    _require(len(message), at + COUNT_BYTES, f"number of rows of '{table.name}'")
    (count,) = _COUNT.unpack_from(message, at)
    if count > most:
        raise FederationError(f"'{table.name}' must have at most {most} rows, but the message claims {count}.")
    return count, at + COUNT_BYTES


def _read_values(message: bytes, at: int, table: TableSpec, count: int) -> tuple[NDArray[Any], int]:
    _require(len(message), at + count * table.value_bytes, f"values of '{table.name}'")
    kind = np.dtype(table.dtype).newbyteorder("<")
    values = np.frombuffer(message, kind, count * table.width, at).reshape(count, table.width)
    return values.astype(table.dtype), at + count * table.value_bytes


def _require(length: int, needed: int, what: str) -> None:
    if length < needed:
        raise FederationError(
            f"a message must be at least {needed} bytes long to hold its {what}, but has {length}."
        )


def _finish(message: bytes, at: int) -> None:
    if len(message) != at:
        raise FederationError(f"a message must end after {at} bytes, but has {len(message)}.")


def _little(values: NDArray[Any]) -> bytes:
    return values.astype(values.dtype.newbyteorder("<"), copy=False).tobytes()
