"""Whether two long contents are the same, without keeping either and without the cost of a hash."""

from __future__ import annotations

import os

from murmura.core.errors import MissingExtraError


class ContentComparison:
    """Tells contents apart under a key that is drawn here: AES-GCM, some ten times as fast as SHA-256.

    One nonce serves all of them, as neither the key nor a digest leaves the memory of this process; contents of
    somebody who knows neither are taken for one another with a probability of about 2**-100.
    """

    def __init__(self) -> None:
        try:
            from cryptography.hazmat.primitives.ciphers.aead import AESGCM
        except ModuleNotFoundError:
            raise MissingExtraError("a federation over HTTP", "serve") from None
        self._key, self._nonce = AESGCM(os.urandom(16)), bytes(12)

    def digest(self, content: bytes, mark: bytes = b"") -> bytes:
        """What the same content under the same mark has too, and no other."""
        return self._key.encrypt(self._nonce, mark, content)
