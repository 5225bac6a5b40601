"""What a device does when the item features it is told of are not those it gets."""

import asyncio
import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from murmura.algorithms.kgflex.kgflex import KGFlex
from murmura.core.contract import FederationInfo
from murmura.core.features import ItemFeatures, encode_features
from murmura.device.download_cache import DownloadCache
from murmura.testing import crowd
from murmura.wire.description import FederationDescription
from murmura.wire.manifest import Download
from murmura.wire.refusals import RefusedError
from murmura.wire.terms import CatalogueRule, FederationTerms
from murmura.wire.transport import REPLY_BYTES, HttpReply
from tests.http.wire_world import manifest, terms

DATA = crowd()
INFO = FederationInfo.of(DATA)
GOOD = FederationDescription.of(DATA.items, INFO)
assert INFO.features is not None
FEATURES = encode_features(INFO.features)


def name_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def agreed(description: bytes, features: int = len(FEATURES), **changed: Any) -> FederationTerms:
    """Terms that name this description."""
    rule = CatalogueRule("fixed", name_of(description), len(description), features)
    return replace(terms(), catalogue=rule, **changed)


def described(description: bytes, published: Mapping[str, bytes]) -> FederationDescription:
    """What a device makes of a coordinator that publishes this."""

    async def send(
        method: str, url: str, body: bytes, headers: Mapping[str, str], *, largest: int = REPLY_BYTES
    ) -> HttpReply:
        return HttpReply(200, published[url.rpartition("/")[2]])

    published = {name_of(description): description, **published}
    longest = max(map(len, published.values()))
    return asyncio.run(DownloadCache("http://c", send, agreed(description, longest)).description())


def changed(**values: Any) -> bytes:
    return json.dumps({**json.loads(GOOD.encode()), **values}, sort_keys=True).encode()


def test_a_device_knows_the_features_of_the_description() -> None:
    got = described(GOOD.encode(), {GOOD.feature_hash: FEATURES}).info.features
    assert got is not None
    assert INFO.features is not None
    assert got.fingerprint == INFO.features.fingerprint


def test_other_content_under_the_name_is_forged() -> None:
    other = replace(INFO.features, labels=INFO.features.labels[::-1])  # type: ignore[type-var, union-attr]
    with pytest.raises(RefusedError, match="must have it, but has another") as refused:
        described(GOOD.encode(), {GOOD.feature_hash: encode_features(other)})  # type: ignore[arg-type]
    assert refused.value.code == "forged"


def test_no_more_is_read_than_the_terms_announce() -> None:
    asked = list[int]()

    async def send(
        method: str, url: str, body: bytes, headers: Mapping[str, str], *, largest: int = REPLY_BYTES
    ) -> HttpReply:
        asked.append(largest)
        return HttpReply(200, GOOD.encode() if url.endswith(name_of(GOOD.encode())) else FEATURES)

    asyncio.run(DownloadCache("http://c", send, agreed(GOOD.encode())).description())
    assert asked == [len(GOOD.encode()), len(FEATURES)]


FEWER = ItemFeatures.of(("a=1",), 3, np.arange(3, dtype=np.int32), np.zeros(3, np.int32))


@pytest.mark.parametrize(
    "features",
    [
        ([6, name_of(FEATURES)], FEATURES),
        ([8, name_of(FEATURES)], FEATURES),
        ([-7, name_of(FEATURES)], FEATURES),
        ([1, name_of(encode_features(FEWER))], encode_features(FEWER)),
        ([7, name_of(GOOD.encode())], GOOD.encode()),
        ([7, name_of(FEATURES[:-1])], FEATURES[:-1]),
    ],
    ids=["one less", "one more", "below zero", "of fewer items", "the description itself", "a part"],
)
def test_features_that_do_not_fit_are_refused(features: tuple[list[Any], bytes]) -> None:
    told, content = features
    with pytest.raises(RefusedError) as refused:
        described(changed(features=told), {told[1]: content})
    assert refused.value.code == "malformed"


@pytest.mark.parametrize(
    "told",
    [None, [], 7, "ab", [7], [7, ""], [7, None], [7, 5], [7, "../../x"], ["x", "00" * 32], [7, "00"], {}],
)
def test_a_description_names_features_by_a_hash_or_not_at_all(told: Any) -> None:
    with pytest.raises(RefusedError, match=r"fields of docs/wire\.md"):
        FederationDescription.decode(changed(features=told))


def test_a_method_of_features_without_any_is_refused_before_it_trains() -> None:
    bare = FederationDescription(DATA.items, replace(INFO, features=None, feature_count=0))
    assert KGFlex.uses_features

    async def send(
        method: str, url: str, body: bytes, headers: Mapping[str, str], *, largest: int = REPLY_BYTES
    ) -> HttpReply:
        return HttpReply(200, bare.encode())

    kgflex = agreed(bare.encode(), 0, method="kgflex", settings={"factors": 2})
    cache = DownloadCache("http://c", send, kgflex)
    model = Download(name_of(bare.encode()), cache._exact_length(bare.info))
    asked = replace(manifest(), model=model, counts=None)
    with pytest.raises(RefusedError, match="kgflex needs item features, but the description names none"):
        asyncio.run(cache.model(asked))
