"""Amazon product ratings (McAuley et al., SIGIR 2015): Digital Music as in FedeRank, or any ratings file."""

from __future__ import annotations

from murmura.core.catalogue import Catalogue, Dataset
from murmura.data.layout import Kind, Layout
from murmura.data.rows import interactions_of
from murmura.data.source import Folder, Source, SourceFile

# ids are text even where they look like numbers: their order decides ties, and the papers' was that of text
RATINGS = Layout(
    "\t",
    {"user": "user_id", "item": "item_id", "value": "rating", "time": "utc"},
    {"user": Kind.TEXT_ID, "item": Kind.TEXT_ID, "value": Kind.VALUE, "time": Kind.SECONDS},
)


def read(folder: Folder) -> Dataset:
    """One tab-separated file with the columns user_id, item_id, rating and utc."""
    interactions = interactions_of([folder.rows(folder.source.files[0].name, RATINGS)])
    return folder.dataset(interactions, Catalogue(interactions.items))


_RAW = (
    "https://raw.githubusercontent.com/sisinflab/FedBPR/52539e07da390f7fc5e2101e01b1dacefb348e52/raw_datasets"
)
_SHA256 = "f2f01d03c9f62d703f6d883ca6cd7029af09de62fbf25399e13a1c31475cab47"

DIGITAL_MUSIC = Source(
    "amazon-digital-music", "Amazon Digital Music, users with at least 20 ratings (FedeRank, ECIR 2021)",
    "J. McAuley, UC San Diego", "research use; cite McAuley et al. (SIGIR 2015)",
    "https://github.com/sisinflab/FedBPR",
    (SourceFile("AmazonDigitalMusic.tsv", _SHA256),),
    read, files_at=_RAW,
)  # fmt: skip
