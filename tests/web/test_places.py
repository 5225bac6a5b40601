"""Whoever has most gives a place back where they are short; what is not read takes bounded memory."""

from __future__ import annotations

import time

from murmura.server.http.connections import Places
from murmura.server.http.http_messages import UnreadReplies


class Waiting:
    """A holder that waits since a time, or is at work."""

    def __init__(self, since: float, works: bool = False) -> None:
        self._waits, self.ended = (works, since), False

    def waits(self) -> tuple[bool, float]:
        return self._waits

    def abort(self) -> None:
        self.ended = True


def test_places_are_given_back() -> None:
    places = Places(3, 2, exempt=lambda address: address == "proxy")
    one, two, other, last = (Waiting(n) for n in range(4))
    assert [places.enter("a", holder) for holder in (one, two, other)] == [True, True, False]
    places.leave("a", one)
    places.leave("a", one)  # not again
    assert [places.enter("proxy", holder) for holder in (one, other)] == [True, True]  # no limit of its own
    assert not any(holder.ended for holder in (one, two, other))
    assert places.enter("proxy", last)
    assert [holder.ended for holder in (one, two, other)] == [False, True, False]  # the last of an address
    for holder in (one, other, last):
        places.leave("proxy", holder)
    assert [places.enter("a", holder) for holder in (one, two, other)] == [True, True, False]


def test_whoever_has_most_gives_a_place_to_a_new_address() -> None:
    places = Places(6, 3)
    held = {
        name: [Waiting(since) for since in times]
        for name, times in {"a": (0,), "b": (3, 1, 2), "c": (0, 4)}.items()
    }
    for name, holders in held.items():
        assert all(places.enter(name, holder) for holder in holders)
    assert places.enter("d", Waiting(9))
    assert [holder.ended for holder in held["b"]] == [False, True, False]
    assert places.enter("e", Waiting(9))  # b and c have as many: of theirs it is the longest waiting
    assert [holder.ended for holder in held["c"]] == [True, False]
    assert not held["a"][0].ended


def test_what_is_at_work_is_ended_last() -> None:
    places = Places(2, 2)
    works, idle, new = Waiting(0, works=True), Waiting(5), [Waiting(6), Waiting(7)]
    assert all(places.enter("a", one) for one in (works, idle))
    assert places.enter("b", new[0])
    assert (works.ended, idle.ended) == (False, True)
    assert places.enter("c", new[1])  # one each: b's only waits, a's works
    assert (works.ended, new[0].ended) == (False, True)


def test_equal_replies_are_in_memory_once() -> None:
    unread = UnreadReplies(250)
    readers = [Waiting(n) for n in range(5)]
    content = bytes(200)
    assert unread.hold("a", readers[0], content) is content
    assert unread.hold("b", readers[1], bytes(bytearray(200))) is content
    assert unread.hold("b", readers[2], b"x" * 50) == b"x" * 50
    assert (
        unread.hold("c", readers[3], b"y" * 50) == b"y" * 50
    )  # too much: b has half of one and all of another
    assert [one.ended for one in readers] == [False, True, True, False, False]
    unread.drop(readers[0])
    assert unread.hold("c", readers[4], bytes(bytearray(200))) is not content  # nobody has it any more
    assert not readers[3].ended


def test_who_reads_is_ended_after_those_who_do_not() -> None:
    unread, now = UnreadReplies(100), time.monotonic()
    slow, quick = Waiting(now - 60), Waiting(now + 60)
    unread.hold("a", quick, b"x" * 80)
    unread.hold("b", slow, b"y" * 20)
    unread.hold("c", Waiting(now + 60), b"z" * 20)
    assert (quick.ended, slow.ended) == (False, True)
