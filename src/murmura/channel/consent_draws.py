"""Consent's one seam: who shares what becomes `history.consent`, before an algorithm sees the history.

per-triple           share = pi; the algorithm flips it at every use (the authors' code)
per-item-per-round   share = 0 or 1, a coin per item and round (eq. 4 of FedeRank, 4.8 of the thesis)
sticky               share = 0 or 1, decided once: an item joins the shared set only while that set is smaller
                     than floor(pi * n), drawn at random among the undecided, and never leaves the record
block                the same, but the shared set is one stretch of the history in time order: its beginning is
                     drawn once, and afterwards items join it at its ends alone, the later one first

What sticky and block promise: however often a client trains, restarts, changes pi, gains items or excludes
some, the items it has ever sent are at most the largest floor(pi * n) there has been. Lowering pi or excluding
an item stops its sending and draws nothing anew. pi limits what is contributed; it does not protect privacy.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from murmura.core.arrays import Bools, Floats, Ints, Longs
from murmura.core.consent import Consent, DisclosureMode, sticky_limit, undisclosed_rows
from murmura.core.errors import DataError, SettingError
from murmura.core.interactions import Interactions
from murmura.core.population import Population, round_consent
from murmura.core.rng import Purpose, Rng, Words, philox


@dataclass(frozen=True)
class StickyRecord:
    """What a device keeps for ever about its sticky decisions."""

    joined: tuple[int, ...] = ()  # the items of the shared set in the order they joined; none ever leaves
    excluded: tuple[int, ...] = ()  # "never share this", which its owner may take back


def extend_record(record: StickyRecord, items: Iterable[int], pi: float, secret: Words) -> StickyRecord:
    """Let items join while there is room; what has joined stays, also when pi falls or the item is excluded."""
    own, barred = sorted(set(items)), {*record.excluded, *record.joined}
    undecided = [item for item in own if item not in barred]
    remaining = min(int(sticky_limit(pi, len(own))) - len(record.joined), len(undecided))
    stream = Rng(secret, len(record.joined)).stream(Purpose.CONSENT)
    joined = list(record.joined)
    for _ in range(remaining):
        place = stream.below(len(undecided))
        joined.append(undecided[place])
        undecided[place] = undecided[-1]
        undecided.pop()
    return replace(record, joined=tuple(joined))


def extend_block(record: StickyRecord, items: Sequence[int], pi: float, secret: Words) -> StickyRecord:
    """The same for a stretch of the history: `items` are its items, each once, from the oldest to the newest.

    Excluded items are passed over. What lies between items of the stretch, because it came to the history
    later or was excluded, never joins. Where nothing of the stretch is in the history any more, what room is
    left is a stretch of its own.
    """
    remaining = int(sticky_limit(pi, len(items))) - len(record.joined)
    if remaining <= 0:
        return record
    joined, excluded = set(record.joined), set(record.excluded)
    held = [place for place, item in enumerate(items) if item in joined]
    if held:
        ends = (*items[held[-1] + 1 :], *reversed(items[: held[0]]))
        new = [item for item in ends if item not in excluded][:remaining]
    else:
        allowed = [item for item in items if item not in excluded]
        size = min(remaining, len(allowed))
        begin = Rng(secret, len(record.joined)).stream(Purpose.CONSENT).below(len(allowed) - size + 1)
        new = allowed[begin : begin + size]
    return replace(record, joined=(*record.joined, *new))


def sticky_consent(record: StickyRecord, items: Ints, pi: float) -> Floats:
    """1 for what may be sent now: of what has joined, the first floor(pi * n), without the excluded.

    Of a stretch that is one too: it grows from its beginning on, to later and then to earlier items.
    """
    active = set(record.joined[: int(sticky_limit(pi, len(items)))]) - set(record.excluded)
    return np.array([float(item in active) for item in items.tolist()])


def client_consent(
    mode: DisclosureMode,
    record: StickyRecord,
    items: Ints,
    pi: float,
    secret: Words,
    round: int,
    time: Longs | None = None,
) -> tuple[Floats, StickyRecord]:
    """The consent of each row of one client in a round, and its sticky decisions after it.

    `items` has the item of each row: in a household one may occur for several people, and `sticky` and `block`
    share it for all of them or for none. `time` has that of each row, which `block` needs; an item counts at
    its first. `ConsentChoices.population` is the compiled twin for many clients at once.
    """
    if mode in ("sticky", "block"):
        own, place = np.unique(items, return_inverse=True)
        if mode == "sticky":
            record = extend_record(record, own.tolist(), pi, secret)
        else:
            ordered = items[np.lexsort((items, needed_times(time)))].tolist()
            record = extend_block(record, list(dict.fromkeys(ordered)), pi, secret)
        return sticky_consent(record, own, pi)[place], record
    consent: Floats = np.where(np.isin(items, record.excluded), 0.0, pi)
    return (round_consent(consent, Rng(secret, round)) if mode == "per-item-per-round" else consent), record


def needed_times(time: Longs | None) -> Longs:
    """The times that a stretch of the history is cut by, refused where there are none."""
    if time is None:
        raise DataError(
            "disclosure 'block' needs a time for every row, but there are none here; choose 'sticky', or give "
            "data with times."
        )
    return time


@dataclass(frozen=True, eq=False)
class ConsentChoices:
    """What every client of a simulation allows."""

    mode: DisclosureMode
    pi: Floats  # (clients,)
    excluded: Bools  # (rows,) in the order of `Interactions.by_user`: never share this
    statistics: Bools  # (clients,) who takes part in sums about people

    @staticmethod
    def of(
        consent: Consent,
        data: Interactions,
        secrets: Words,
        pi: Floats | None = None,
        never: Bools | None = None,
        statistics: Bools | None = None,
    ) -> ConsentChoices:
        """From settings; `pi` and `statistics` are everyone's own choices, `never` marks rows to keep back."""
        chosen = _chosen(consent, secrets) if pi is None else np.asarray(pi, np.float64)
        if len(chosen) != data.n_users:
            raise SettingError(
                f"pi must be one number for each of the {data.n_users} users, but there are {len(chosen)}."
            )
        if not ((chosen >= 0) & (chosen <= 1)).all():
            raise SettingError(
                f"pi must lie between 0 and 1 for everyone, but goes from {chosen.min():g} to {chosen.max():g}."
            )
        if consent.disclosure == "block":
            needed_times(data.time)
        marked = np.zeros(len(data), np.bool_) if never is None else np.asarray(never, np.bool_)
        excluded = marked[data.by_user.order]
        if consent.hides != "random":
            excluded |= undisclosed_rows(consent.hides, data, chosen, secrets)
        counted = _coins(secrets, 1) < consent.statistics if statistics is None else np.asarray(statistics)
        return ConsentChoices(consent.disclosure, chosen, excluded, counted.astype(np.bool_))

    def population(self, data: Interactions, secrets: Words) -> Population:
        """Every client's history with its consent."""
        rows = data.by_user
        consent = np.repeat(self.pi, np.diff(rows.start))
        consent[self.excluded] = 0.0
        if self.mode in ("sticky", "block") and not np.isin(consent, (0.0, 1.0)).all():
            from murmura.kernels.philox import fill_block, fill_sticky

            limit = sticky_limit(self.pi, np.diff(rows.start))
            if self.mode == "sticky":
                fill_sticky(rows.start, limit, self.excluded, secrets, consent)
            else:
                owner = np.repeat(np.arange(data.n_users), np.diff(rows.start))
                order = np.lexsort((rows.index, needed_times(data.time)[rows.order], owner))
                fill_block(rows.start, order, limit, self.excluded, secrets, consent)
        return Population(
            rows.start,
            rows.index,
            rows.value,
            consent,
            secrets,
            per_round=self.mode == "per-item-per-round",
            statistics=self.statistics,
            samples=data.samples,
            attributes=data.attributes,
            time=None if data.time is None else data.time[rows.order],
        )


def never_share(data: Interactions, wishes: Mapping[Any, Iterable[Any]]) -> Bools:
    """The rows of `data` that {user id: item ids} forbids to share; refuses an id that is not there."""
    users = data.users.index(list(wishes), "user")
    forbidden = np.zeros(len(data), np.bool_)
    for user, items in zip(users, wishes.values()):
        codes = data.items.index(list(items), "item")
        here = (data.user == user) & np.isin(data.item, codes)
        if here.sum() < len(set(codes.tolist())):
            raise DataError(
                f"user {data.users.labels[user]!r} must hold every item never to be shared, but lacks one."
            )
        forbidden |= here
    return forbidden


def _chosen(consent: Consent, secrets: Words) -> Floats:
    """Everyone's pi: the same, or drawn by each client from the distribution of choices."""
    if not isinstance(consent.pi, dict):
        return np.full(len(secrets), consent.pi)
    values = np.array(sorted(consent.pi))
    weights = np.array([consent.pi[value] for value in values.tolist()])
    edges = np.cumsum(weights) / weights.sum()
    place: Longs = np.searchsorted(edges, _coins(secrets, 0))
    return values[np.minimum(place, len(values) - 1)]


def _coins(secrets: Words, word: int) -> Floats:
    """A number between 0 and 1 for everyone's choices: word 0 picks her pi, word 1 whether she is counted."""
    words = philox(np.array([0, 0, Purpose.CHOICE, 0]), secrets)[:, word]
    uniform: Floats = (words.astype(np.float64) + 0.5) * 2.0**-32
    return uniform
