"""AES-128 under fixed keys as a hash of blocks, as in draft-irtf-cfrg-vdaf, by AES instructions.

    hash(x) = AES(key, sigma(x)) xor sigma(x),  sigma(lo, hi) = (hi, hi xor lo)

A block is two little-endian words of 64 bits. Without AES instructions bytes are looked up in a table: the same
bits, much later, and which memory is read depends on what is secret.
"""

from __future__ import annotations

import platform
from typing import Any

import numba
import numpy as np
from llvmlite import binding, ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from murmura.core.arrays import Bytes
from murmura.kernels.compiled import compiled
from murmura.kernels.proofs.field import Elements

ROUNDS = 10
Word = Any  # np.uint64


def has_instructions() -> bool:
    """Whether loops are compiled for a processor with AES instructions."""
    if platform.machine().lower() not in ("x86_64", "amd64"):
        return False  # others have a feature of this name too, but other instructions
    chosen, features = (getattr(numba.config, name) for name in ("CPU_NAME", "CPU_FEATURES"))
    if features is not None:
        return "+aes" in features.split(",")
    return not chosen and bool(binding.get_host_cpu_features().get("aes"))


def _doubled(x: int) -> int:
    """Times 2 in GF(2⁸)."""
    return x << 1 ^ (0x11B if x & 0x80 else 0)


def _s_box() -> Bytes:
    """The inverse in GF(2⁸), then the sum of five rotations and a constant (FIPS 197)."""
    powers, x = [], 1
    for _ in range(255):
        powers.append(x)
        x ^= _doubled(x)  # 3 generates all but 0
    logs = {value: i for i, value in enumerate(powers)}
    box = np.zeros(256, np.uint8)
    for value in range(256):
        found, inverse = 0x63, powers[-logs[value] % 255] if value else 0
        for turn in range(5):
            found ^= (inverse << turn | inverse >> (8 - turn)) & 0xFF
        box[value] = found
    return box


S_BOX = _s_box()
DOUBLED = np.array([_doubled(x) for x in range(256)], np.uint8)


@compiled
def round_keys(key: Bytes) -> Elements:
    """(22,) words of the round keys of a key of 16 bytes."""
    expanded = np.zeros(16 * (ROUNDS + 1), np.uint8)
    expanded[:16] = key
    constant = np.uint8(1)
    for at in range(16, len(expanded), 4):
        word = expanded[at - 4 : at].copy()
        if at % 16 == 0:
            first = word[0]
            for i in range(3):
                word[i] = S_BOX[word[i + 1]]
            word[3] = S_BOX[first]
            word[0] ^= constant
            constant = DOUBLED[constant]
        for i in range(4):
            expanded[at + i] = expanded[at - 16 + i] ^ word[i]
    return expanded.view(np.uint64)


@compiled
def encrypt_plainly(keys: Elements, lo: Word, hi: Word) -> tuple[Word, Word]:
    """One block of AES, byte by byte."""
    words = np.empty(2, np.uint64)
    words[0], words[1] = lo ^ keys[0], hi ^ keys[1]
    state, moved = words.view(np.uint8), np.empty(16, np.uint8)
    for turn in range(1, ROUNDS + 1):
        for i in range(16):
            moved[i] = S_BOX[state[i + 4 * (i % 4) & 15]]
        for column in range(0, 16, 4):
            whole = moved[column] ^ moved[column + 1] ^ moved[column + 2] ^ moved[column + 3]
            for i in range(4):
                here, after = moved[column + i], moved[column + (i + 1) % 4]
                mixed = here ^ whole ^ DOUBLED[here ^ after]
                state[column + i] = here if turn == ROUNDS else mixed
        words[0] ^= keys[2 * turn]
        words[1] ^= keys[2 * turn + 1]
    return words[0], words[1]


@intrinsic
def _encrypt(typing: Any, keys: Any, lo: Any, hi: Any) -> Any:
    """One block of AES, by instructions."""
    pair = types.UniTuple(types.uint64, 2)  # type: ignore[no-untyped-call]

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        block = ir.VectorType(ir.IntType(64), 2)
        one = cgutils.create_struct_proxy(signature.args[0])(context, builder, given[0])  # type: ignore[no-untyped-call]
        data = builder.bitcast(one.data, block.as_pointer())
        step = ir.FunctionType(block, [block, block])

        def key(turn: int) -> Any:
            loaded = builder.load(builder.gep(data, [ir.IntType(64)(turn)]))
            loaded.align = 8
            return loaded

        state = ir.Constant(block, ir.Undefined)
        for place in range(2):
            state = builder.insert_element(state, given[1 + place], ir.IntType(32)(place))
        state = builder.xor(state, key(0))
        for turn in range(1, ROUNDS + 1):
            name = "llvm.x86.aesni.aesenc" + ("last" if turn == ROUNDS else "")
            called = cgutils.get_or_insert_function(  # type: ignore[no-untyped-call]
                builder.module, step, name
            )
            state = builder.call(called, [state, key(turn)])
        words = [builder.extract_element(state, ir.IntType(32)(place)) for place in range(2)]
        return context.make_tuple(builder, pair, words)

    return pair(keys, types.uint64, types.uint64), generate


encrypt: Any = _encrypt if has_instructions() else encrypt_plainly


@compiled(inline=True)
def hashed(keys: Elements, lo: Word, hi: Word) -> tuple[Word, Word]:
    """The hash of a block under round keys."""
    left, right = encrypt(keys, hi, hi ^ lo)
    return left ^ hi, right ^ hi ^ lo
