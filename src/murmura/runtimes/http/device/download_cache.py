"""What is published under a hash: fetched once, checked against its name, kept for the next round."""

from __future__ import annotations

import asyncio
import hashlib
from typing import Any

from numpy.typing import NDArray

from murmura.core.channel import ChannelSettings
from murmura.core.codec import decode_model
from murmura.core.contract import FederationInfo
from murmura.core.errors import FederationError
from murmura.core.settings import from_dict
from murmura.runtimes.http.protocol.manifest import FederationDescription, Manifest
from murmura.runtimes.http.protocol.refusals import RefusedError
from murmura.runtimes.http.protocol.transport import DOWNLOAD_BYTES, Transport, ask

Model = dict[str, NDArray[Any]]


class DownloadCache:
    """The description and the newest model; devices of one process can share it."""

    def __init__(self, url: str, send: Transport) -> None:
        self._url, self._send = url, send
        self._described: tuple[str, FederationDescription] | None = None
        self._model: tuple[str, Model] | None = None
        self._fetching = asyncio.Lock()
        self.bytes_down = 0

    async def description(self, name: str) -> FederationDescription:
        """The public description of that hash."""
        async with self._fetching:
            if self._described is None or self._described[0] != name:
                described = FederationDescription.decode(await self._fetch(name))
                if described.feature_hash:
                    described = described.with_features(await self._fetch(described.feature_hash))
                self._described = name, described
            return self._described[1]

    async def model(self, manifest: Manifest) -> Model:
        """The public model of a round, in the algorithm's own types and shapes."""
        info = (await self.description(manifest.description)).info
        async with self._fetching:
            if self._model is None or self._model[0] != manifest.model:
                self._model = manifest.model, _read(await self._fetch(manifest.model), manifest, info)
            return self._model[1]

    async def _fetch(self, name: str) -> bytes:
        content = (await ask(self._send, "GET", f"{self._url}/m/{name}", largest=DOWNLOAD_BYTES)).body
        if hashlib.sha256(content).hexdigest() != name:
            raise RefusedError(
                "forged", "what is published under a hash must have it, but has another; take no part."
            )
        self.bytes_down += len(content)
        return content


def _read(content: bytes, manifest: Manifest, info: FederationInfo) -> Model:
    algorithm = manifest.algorithm()
    if algorithm.uses_features and info.features is None:
        raise RefusedError(
            "malformed", f"{manifest.preset} needs item features, but the description names none; take no part."
        )
    publishes = algorithm.publishes(info)
    channel = from_dict(ChannelSettings, dict(manifest.channel))
    kinds = {table.name: table.dtype for table in publishes.tables}
    try:
        tables = decode_model(content, channel.downloads(publishes), info.listed)
        model: Model = {
            name: values.astype(kinds[name]).reshape(manifest.shapes[name]) for name, values in tables.items()
        }
    except (FederationError, KeyError, ValueError) as error:
        raise RefusedError("malformed", f"the public model is not what was declared: {error}") from None
    for values in model.values():
        values.flags.writeable = False
    return model
