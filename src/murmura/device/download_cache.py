"""What is published under a hash: fetched once, checked against its name, kept for the next round."""

from __future__ import annotations

import asyncio
import hashlib
import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmura.core.arrays import Longs
from murmura.core.codec import decode_changes, decode_model, encode_model
from murmura.core.contract import FederationInfo
from murmura.core.errors import FederationError
from murmura.core.message import TableSpec
from murmura.wire.description import FederationDescription
from murmura.wire.log import LoggedModel
from murmura.wire.manifest import Download, Manifest
from murmura.wire.refusals import forged, malformed
from murmura.wire.terms import FederationTerms
from murmura.wire.transport import DOWNLOAD_BYTES, Transport, ask

Model = dict[str, NDArray[Any]]

ARRAYS_BYTES = 1024  # of a message of arrays, apart from its values


class DownloadCache:
    """The description and the newest model; devices of one process can share it."""

    def __init__(self, url: str, send: Transport, terms: FederationTerms) -> None:
        self._url, self._send, self._terms = url, send, terms
        self._described: FederationDescription | None = None
        self._model: tuple[str, Model] | None = None
        self._counted: tuple[str, FederationInfo] | None = None  # by the hash of the counts
        self._fetching = asyncio.Lock()
        self.bytes_down = 0

    async def description(self) -> FederationDescription:
        """The public description that the terms name."""
        async with self._fetching:
            if self._described is None:
                catalogue = self._terms.catalogue
                content = await self._fetch(catalogue.description, min(DOWNLOAD_BYTES, catalogue.bytes))
                described = FederationDescription.decode(content)
                described.check_for(self._terms.algorithm())
                if described.feature_hash:
                    most = min(DOWNLOAD_BYTES, catalogue.features_bytes)
                    features = await self._fetch(described.feature_hash, most)
                    described = described.with_features(features)
                self._described = described
            return self._described

    async def info(self, wanted: Manifest) -> FederationInfo:
        """What everybody knows in a round: the description, and the counts that were made public since."""
        described = (await self.description()).info
        phase = self._terms.phase(wanted.phase, described)
        self._terms.check_counts(phase, wanted.counts is not None)
        if wanted.counts is None:
            return described
        return await self._with_counts(wanted.counts.hash, wanted.counts.bytes)

    async def _with_counts(self, name: str, length: int = DOWNLOAD_BYTES) -> FederationInfo:
        """The description with the counts of this hash, at most so long."""
        described = await self.description()
        async with self._fetching:
            if self._counted is None or self._counted[0] != name:
                content = await self._fetch(name, min(ARRAYS_BYTES + 4 * len(described.items), length))
                self._counted = name, described.with_counts(content).info
            return self._counted[1]

    async def newest(self, last: Manifest, logged: LoggedModel | None) -> tuple[Manifest, FederationInfo]:
        """The last manifest as if its round had begun with the newest model of the log, and what is known then.

        That model may be newer than any manifest, and hold more: an exchange may have told the counts since.
        """
        if logged is None:
            return last, await self.info(last)
        described = (await self.description()).info
        info = await self._with_counts(logged.counts) if logged.counts else described
        tables = self._terms.algorithm().publishes(info).tables
        shapes = {table.name: _newest_shape(table, last) for table in tables}
        model = Download(logged.hash, self._exact_length(info))
        return replace(last, model=model, changes=[], shapes=shapes), info

    async def model(self, wanted: Manifest, info: FederationInfo | None = None) -> Model:
        """The public model of a round, in the algorithm's own types and shapes."""
        info = await self.info(wanted) if info is None else info
        async with self._fetching:
            if self._model is None or self._model[0] != wanted.model.hash:
                self._model = wanted.model.hash, await self._newest(wanted, info)
            return self._model[1]

    def _exact_length(self, info: FederationInfo) -> int:
        """The length of a whole model, by what the method declares."""
        publishes = self._terms.algorithm().publishes(info)
        return self._terms.channel_settings.downloads(publishes).model_bytes(len(info.listed))

    async def _newest(self, wanted: Manifest, info: FederationInfo) -> Model:
        """The whole model, or what changed since the one that is here."""
        known, whole = self._model, self._exact_length(info)
        if wanted.model.bytes != whole or whole > DOWNLOAD_BYTES:
            raise malformed(
                f"the model of a round must have {whole} bytes, at most {DOWNLOAD_BYTES}, but says others."
            )
        if known is None:
            return self._read(await self._fetch(wanted.model.hash, whole), wanted, info)
        short = [one for one in wanted.changes if one.base == known[0] and one.bytes < whole]
        if short:
            content = await self._fetch(short[0].hash, short[0].bytes)
            return self._read(content, wanted, info, known[1])
        content = await self._get(f"{wanted.model.hash}/since/{known[0]}", whole)
        is_whole = hashlib.sha256(content).hexdigest() == wanted.model.hash
        return self._read(content, wanted, info, None if is_whole else known[1])

    async def _fetch(self, name: str, length: int) -> bytes:
        content = await self._get(name, length)
        if hashlib.sha256(content).hexdigest() != name:
            raise forged("what is published under a hash must have it, but has another; take no part.")
        return content

    async def _get(self, path: str, length: int) -> bytes:
        content = (await ask(self._send, "GET", f"{self._url}/m/{path}", largest=length)).body
        self.bytes_down += len(content)
        return content

    def _read(self, content: bytes, wanted: Manifest, info: FederationInfo, base: Model | None = None) -> Model:
        algorithm = self._terms.algorithm()
        if algorithm.uses_features and info.features is None:
            raise malformed(
                f"{self._terms.method} needs item features, but the description names none; take no part."
            )
        publishes = algorithm.publishes(info)
        downloads = self._terms.channel_settings.downloads(publishes)
        kinds = {table.name: table.dtype for table in publishes.tables}
        try:
            if base is None:
                tables = decode_model(content, downloads, info.listed)
            else:
                tables = decode_changes(content, base, downloads, info.listed)
                whole = encode_model(tables, downloads, info.listed)
                if hashlib.sha256(whole).hexdigest() != wanted.model.hash:
                    raise FederationError(
                        "what changed must lead to the model of the round, but leads elsewhere."
                    )
            model: Model = {
                table.name: tables[table.name].astype(kinds[table.name]).reshape(_shape(table, wanted))
                for table in publishes.tables
            }
        except (FederationError, KeyError, ValueError) as error:
            raise malformed(f"the public model is not what was declared: {error}") from None
        if algorithm.releases_counts and not _equal(algorithm.public_counts(model), info.counts):
            raise forged("the counts of items must be those the model tells, but are not.")
        for values in model.values():
            values.flags.writeable = False
        return model


def _equal(one: Longs | None, other: Longs | None) -> bool:
    return one is other if one is None or other is None else np.array_equal(one, other)


def _newest_shape(table: TableSpec, last: Manifest) -> list[int]:
    """The shape of a table in a newer model: as many dimensions as before, two where it is new."""
    return [table.rows, table.width][: len(last.shapes.get(table.name, (0, 0)))]


def _shape(table: TableSpec, wanted: Manifest) -> tuple[int, ...]:
    """The shape of a table as its method holds it; refuses one that would only fail in training."""
    shape = tuple(wanted.shapes[table.name])
    known = (table.rows, table.width), (table.rows,), ()
    if shape not in known or math.prod(shape) != table.rows * table.width:
        raise FederationError(f"'{table.name}' must have {table.rows} rows of {table.width}, but has others.")
    return shape
