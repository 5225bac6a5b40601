"""Our messages inside Flower's: one array of bytes, which Flower cuts into pieces where it is long."""

from __future__ import annotations

import numpy as np

from murmura.core.errors import MissingExtraError

try:
    from flwr.app import Array, ArrayRecord, Message, RecordDict
except ImportError:
    raise MissingExtraError("a federation on Flower", "flower") from None

NAME = "murmura"


def content_of(message: bytes) -> RecordDict:
    """A message of ours as the content of one of Flower's."""
    return RecordDict({NAME: ArrayRecord({NAME: Array(np.frombuffer(message, np.uint8))})})


def message_of(carrier: Message) -> bytes:
    """The message of ours that one of Flower's carries."""
    numbers: bytes = carrier.content[NAME][NAME].numpy().tobytes()
    return numbers
