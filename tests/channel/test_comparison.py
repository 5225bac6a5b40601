"""Contents that are told apart without being kept."""

from __future__ import annotations

import os

from murmura.channel.key_pairs import ContentComparison


def test_the_same_content_under_the_same_mark_and_no_other_has_a_digest() -> None:
    same, content, mark = ContentComparison(), os.urandom(1000), os.urandom(32)
    known = same.digest(content, mark)
    assert known == same.digest(bytes(content), bytes(mark))
    others = [bytes([content[0] ^ 1]) + content[1:], content[:-1], content + b"\0", b"", content + mark]
    digests = {known, *(same.digest(other, mark) for other in others)}
    digests |= {same.digest(content, mark[::-1]), same.digest(content), same.digest(mark, content[:32])}
    assert len(digests) == len(others) + 4


def test_nobody_else_can_say_a_digest() -> None:
    assert ContentComparison().digest(b"content") != ContentComparison().digest(b"content")
