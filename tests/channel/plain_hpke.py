"""RFC 9180 in plain Python, base mode of one suite; a sender's one-time key is given, for known answers."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

KEM = b"KEM" + (0x0020).to_bytes(2, "big")  # DHKEM(X25519, HKDF-SHA256)
SUITE = b"HPKE" + b"".join(n.to_bytes(2, "big") for n in (0x0020, 0x0001, 0x0001))  # HKDF-SHA256, AES-128-GCM


@dataclass(frozen=True)
class Context:
    """What both sides derive: the key and the first nonce."""

    shared: bytes
    key: bytes
    nonce: bytes


def extract(salt: bytes, ikm: bytes) -> bytes:
    """HKDF-Extract of RFC 5869."""
    return hmac.new(salt or bytes(32), ikm, hashlib.sha256).digest()


def expand(prk: bytes, info: bytes, length: int) -> bytes:
    """HKDF-Expand of RFC 5869."""
    block = made = b""
    while len(made) < length:
        block = hmac.new(prk, block + info + bytes([len(made) // 32 + 1]), hashlib.sha256).digest()
        made += block
    return made[:length]


def labeled_extract(suite: bytes, salt: bytes, label: bytes, ikm: bytes) -> bytes:
    """LabeledExtract of RFC 9180, 4."""
    return extract(salt, b"HPKE-v1" + suite + label + ikm)


def labeled_expand(suite: bytes, prk: bytes, label: bytes, info: bytes, length: int) -> bytes:
    """LabeledExpand of RFC 9180, 4."""
    return expand(prk, length.to_bytes(2, "big") + b"HPKE-v1" + suite + label + info, length)


def context(private: bytes, public: bytes, enc: bytes, receiver: bytes, info: bytes) -> Context:
    """The context of one's own private and the other's public key: RFC 9180, 4.1 and 5.1."""
    dh = X25519PrivateKey.from_private_bytes(private).exchange(X25519PublicKey.from_public_bytes(public))
    shared = labeled_expand(
        KEM, labeled_extract(KEM, b"", b"eae_prk", dh), b"shared_secret", enc + receiver, 32
    )
    named = labeled_extract(SUITE, b"", b"psk_id_hash", b"") + labeled_extract(SUITE, b"", b"info_hash", info)
    secret, said = labeled_extract(SUITE, shared, b"secret", b""), b"\0" + named  # mode 0: base
    key, nonce = (
        labeled_expand(SUITE, secret, *what) for what in ((b"key", said, 16), (b"base_nonce", said, 12))
    )
    return Context(shared, key, nonce)


def public_of(private: bytes) -> bytes:
    """The public half."""
    return X25519PrivateKey.from_private_bytes(private).public_key().public_bytes_raw()


def seal(content: bytes, public: bytes, info: bytes, one_time: bytes, aad: bytes = b"") -> bytes:
    """Encapsulated key and ciphertext of the first message of a context."""
    enc = public_of(one_time)
    made = context(one_time, public, enc, public, info)
    return enc + AESGCM(made.key).encrypt(made.nonce, content, aad)


def unseal(sealed: bytes, private: bytes, info: bytes, aad: bytes = b"") -> bytes:
    """What was sealed; an InvalidTag otherwise."""
    made = context(private, sealed[:32], sealed[:32], public_of(private), info)
    return AESGCM(made.key).decrypt(made.nonce, sealed[32:], aad)
