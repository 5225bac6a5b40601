"""What is publicly known of the items, as features: director, genre, a writer's birthplace.

A feature is written `predicate=object`, where the predicate of several hops through a knowledge graph is
`first~second`; what stands before the object is what a person reads ("author → birthplace: Dublin").

A device downloads them once, as bytes named by their hash: 'm' 'f' version, then one zlib stream of: the
numbers of items, features and pairs (4 bytes each, little end); how many features each item has; its features,
each less the one before it; these numbers byte plane by byte plane, as the high ones are nearly all zero; the
labels, a line each. A reader trusts no length.
"""

from __future__ import annotations

import hashlib
import re
import struct
import zlib
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import unquote

import numpy as np

from murmura.core.arrays import Bytes, Ints, Longs
from murmura.core.errors import FederationError

HOP = "~"  # between the predicates of two hops
_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://\S*$")
_INFOBOX = "http://dbpedia.org/property/"
_NAMED = re.compile(r"/(?:resource|entity)/")  # what follows is one name, even where it holds a slash: AC/DC


@dataclass(frozen=True, eq=False)
class ItemFeatures:
    """Which items have which features: item i has feature[start[i] : start[i + 1]], ascending."""

    labels: tuple[str, ...]  # as their source writes them
    start: Longs  # (items + 1,)
    feature: Ints  # (pairs,)

    @staticmethod
    def of(labels: tuple[str, ...], items: int, item: Ints, feature: Ints) -> ItemFeatures:
        """From pairs in any order, each once; the features that no item has are left out."""
        present, codes = np.unique(feature, return_inverse=True)
        order = np.lexsort((codes, item))
        start = np.concatenate([[0], np.cumsum(np.bincount(item, minlength=items))]).astype(np.int64)
        kept = tuple(labels[code] for code in present.tolist())
        return ItemFeatures(kept, start, codes[order].astype(np.int32))

    def __len__(self) -> int:
        return len(self.labels)

    def restrict(self, items: Ints) -> ItemFeatures:
        """The features of other items, each by its place here; -1: nothing is known of it."""
        here = np.flatnonzero(items >= 0).astype(np.int32)
        owner = np.repeat(here, np.diff(self.start)[items[here]])
        return ItemFeatures.of(self.labels, len(items), owner, self.of_each(items[here]))

    @property
    def items(self) -> int:
        """How many items there are, with or without a feature."""
        return len(self.start) - 1

    def of_item(self, item: int) -> Ints:
        """The features of one item."""
        return self.feature[self.start[item] : self.start[item + 1]]

    def of_each(self, items: Ints) -> Ints:
        """The features of these items one after the other, each as often as it occurs."""
        known = np.diff(self.start)[items]
        within = np.arange(known.sum()) - np.repeat(np.cumsum(known) - known, known)
        found: Ints = self.feature[np.repeat(self.start[items], known) + within]
        return found

    def of_items(self, items: Ints) -> Ints:
        """The features that any of these items has, ascending."""
        return np.unique(self.of_each(items)).astype(np.int32)

    @cached_property
    def hops(self) -> Bytes:
        """(features,) how far from the item each lies; 1 where its source does not say."""
        predicates = (label.partition("=")[0] if "=" in label else "" for label in self.labels)
        return np.array([min(1 + predicate.count(HOP), 255) for predicate in predicates], np.uint8)

    @cached_property
    def by_feature(self) -> tuple[Longs, Ints]:
        """The items of each feature: feature f belongs to item[start[f] : start[f + 1]], ascending."""
        item = np.repeat(np.arange(self.items, dtype=np.int32), np.diff(self.start))
        order = np.argsort(self.feature, kind="stable")
        counts = np.bincount(self.feature, minlength=len(self))
        return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64), item[order]

    @cached_property
    def fingerprint(self) -> str:
        """A sha256 over labels and pairs."""
        digest = hashlib.sha256("\n".join(self.labels).encode())
        digest.update(self.start.astype("<i8").tobytes() + self.feature.astype("<i4").tobytes())
        return digest.hexdigest()

    @cached_property
    def names(self) -> tuple[str, ...]:
        """What a person reads; of two features that read alike, one from an infobox of DBpedia says so."""
        plain = [readable(label) for label in self.labels]
        count = Counter(plain)
        return tuple(
            name if count[name] == 1 else readable(label, origin=True)
            for name, label in zip(plain, self.labels)
        )

    def name(self, feature: int) -> str:
        """What a person reads of one feature."""
        return self.names[feature]


def readable(label: str, origin: bool = False) -> str:
    """A feature in words: `author~birthPlace=http://…/Dublin` is "author → birth place: Dublin".

    With `origin` a predicate that DBpedia took from an infobox as it stood says so.
    """
    predicate, sign, thing = label.partition("=")
    if not sign:
        return f"feature: {last_part(label)}"
    return f"{readable_predicate(predicate, origin)}: {last_part(thing)}"


def readable_predicate(predicate: str, origin: bool = False) -> str:
    """The predicates of a chain in words."""
    hops = []
    for hop in predicate.split(HOP):
        words = _WORDS.sub(" ", unquote(last_part(hop)).replace("_", " ")).lower()
        hops.append(f"{words} (infobox)" if origin and hop.startswith(_INFOBOX) else words)
    return " → ".join(hops)


def last_part(text: str) -> str:
    """The last part of an address, without its escapes; other text as it is."""
    if not _ADDRESS.match(text):
        return text
    beyond = _NAMED.split(text, maxsplit=1)[-1] or text
    last = beyond if beyond != text else re.split(r"[/#]", text.rstrip("/#"))[-1]
    return unquote(last).replace("_", " ").strip()


def predicate_of(name: str, chain: bool = False) -> str:
    """A name as the predicate of a label has it: no sign in it is taken for ours; a chain keeps its hops."""
    name = name.replace("=", "%3D")
    return name if chain else name.replace(HOP, "%7E")


MAGIC = b"mf\x01"
LARGEST = 1 << 26  # bytes unpacked: more is nobody's catalogue, and a reader needs some fifteen times as many
_SIZES = struct.Struct("<III")


def encode_features(features: ItemFeatures) -> bytes:
    """The bytes that everyone downloads."""
    counts, pairs = np.diff(features.start), features.feature.astype(np.int64)
    steps = np.diff(pairs, prepend=0)
    first = features.start[:-1][counts > 0]
    steps[first] = pairs[first]
    if any("\n" in label for label in features.labels):
        raise FederationError("the label of a feature must be one line, but one has several; rename it.")
    text = "\n".join(features.labels).encode()
    raw = _SIZES.pack(features.items, len(features), len(pairs)) + _planes(counts) + _planes(steps) + text
    if len(raw) > LARGEST:
        raise FederationError(
            f"item features must have at most {LARGEST:,} bytes for devices to read, but have {len(raw):,}; "
            "keep fewer features."
        )
    return MAGIC + zlib.compress(raw, 9)


def decode_features(content: bytes) -> ItemFeatures:
    """The features in such bytes; refuses anything else."""
    packed = zlib.decompressobj()
    try:
        raw = packed.decompress(content[len(MAGIC) :], LARGEST) if content.startswith(MAGIC) else b""
    except zlib.error:
        raw = b""
    if len(raw) < _SIZES.size or not packed.eof or packed.unused_data:
        raise FederationError("item features must be in the form of docs/wire.md, but are not.")
    items, features, pairs = _SIZES.unpack_from(raw)
    text_at = _SIZES.size + 4 * (items + pairs)
    if text_at > len(raw):
        raise FederationError("item features must be as long as they say, but are shorter.")
    counts = _numbers(raw, _SIZES.size, items)
    steps = _numbers(raw, _SIZES.size + 4 * items, pairs)
    if counts.sum() != pairs or features > pairs:
        raise FederationError("item features must have the counts they state, but have others.")
    labels = _labels(raw[text_at:], features)
    start = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    total = np.cumsum(steps)
    before = np.concatenate([[0], total])[start[:-1]]
    feature = total - np.repeat(before, counts)
    within = np.ones(pairs, np.bool_)
    within[start[:-1][counts > 0]] = False
    if pairs and (feature.max() >= features or (steps[within] == 0).any()):
        raise FederationError("the features of an item must ascend and be known ones, but are not.")
    return ItemFeatures(labels, start, feature.astype(np.int32))


def _planes(numbers: Longs) -> bytes:
    return numbers.astype("<u4").view(np.uint8).reshape(-1, 4).T.tobytes()


def _numbers(raw: bytes, at: int, n: int) -> Longs:
    planes = np.frombuffer(raw, np.uint8, 4 * n, at).reshape(4, n)
    return np.ascontiguousarray(planes.T).view("<u4").reshape(-1).astype(np.int64)


def _labels(text: bytes, n: int) -> tuple[str, ...]:
    """So many lines; they are counted first, as a list of them takes far more memory than their bytes."""
    if text.count(b"\n") != max(n - 1, 0) or (text and not n):
        raise FederationError("item features must have a label each, a line long, but have not.")
    try:
        return tuple(text.decode().split("\n")) if n else ()
    except UnicodeDecodeError:
        raise FederationError("the labels of item features must be UTF-8, but are not.") from None
