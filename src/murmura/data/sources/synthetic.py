"""Made-up data with a known structure: a generator that scales, and a checkerboard whose answer is known.

A population of very many clients has the same planted tastes and popularity, all rows shared and of value 1. It
is written range by range in constant memory: every range of clients is drawn by itself from (seed, its first
client), so that it could be made again without the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from murmura.core.arrays import Floats, Ints, Longs
from murmura.core.catalogue import TEST, TRAIN, Catalogue, Dataset, Relation, Split
from murmura.core.errors import SettingError
from murmura.core.interactions import Interactions, Vocabulary
from murmura.core.progress import SILENT, Progress
from murmura.core.settings import changed, settings
from murmura.data.populations import RANGE, PopulationFiles, PopulationWriter, Rows

BLOCK = 2**20  # draws at a time: memory stays small beside the rows themselves
PATIENCE = 12  # rounds of drawing by popularity before the rest is drawn uniformly
FIRST_SECOND, SECONDS = 1_600_000_000, 2 * 365 * 86_400


@settings
class SyntheticSettings:
    """What to make up: sizes, how unequal popularity is, how strong the planted taste is.

    Each item and each user belongs to one of `groups` tastes. A row is drawn from the user's own taste with
    probability `taste`, otherwise from all items, by popularity ~ 1 / rank ** skew. No pair occurs twice.
    """

    users: Annotated[int, Field(ge=1)] = 1_000
    items: Annotated[int, Field(ge=2)] = 500
    interactions: Annotated[int, Field(ge=1)] = 20_000
    skew: Annotated[float, Field(ge=0, le=3)] = 0.8
    groups: Annotated[int, Field(ge=1)] = 8
    taste: Annotated[float, Field(ge=0, le=1)] = 0.7
    seed: Annotated[int, Field(ge=0)] = 0


def synth(users: int = 1_000, items: int = 500, interactions: int = 20_000, **more: Any) -> Dataset:
    """A made-up data set, the same for the same arguments; its catalogue says which taste an item serves.

    Args:
        users: How many users it has.
        items: How many items.
        interactions: How many rows.
        more: The other fields of `SyntheticSettings`: skew, groups, taste, seed.
    """
    return generate(SyntheticSettings(users=users, items=items, interactions=interactions, **more))


def generate(plan: SyntheticSettings) -> Dataset:
    """The data set of a plan: rows by user and item; values 1 to 5, higher for the own taste; random times."""
    refuse_impossible(plan)
    rng = np.random.default_rng(plan.seed)
    group_of_item = (rng.permutation(plan.items) % plan.groups).astype(np.int32)
    group_of_user = (rng.permutation(plan.users) % plan.groups).astype(np.int32)
    wanted = activity(plan, rng)
    pairs = distinct_pairs(plan, rng, wanted, ItemLine.of(plan, rng, group_of_item), group_of_user)
    user, item = np.divmod(pairs, plan.items)
    likes = group_of_user[user] == group_of_item[item]
    value = np.clip(np.floor(2.0 + 1.5 * likes + 2.5 * rng.random(len(pairs))), 1, 5)
    time = FIRST_SECOND + rng.integers(SECONDS, size=len(pairs))
    known = Vocabulary(np.arange(plan.items, dtype=np.int64))
    people = Vocabulary(np.arange(plan.users, dtype=np.int64))
    rows = Interactions(people, known, user.astype(np.int32), item.astype(np.int32), value, time)
    labels = tuple(f"taste {group}" for group in range(plan.groups))
    tastes = Relation(labels, np.arange(plan.items, dtype=np.int32), group_of_item)
    return Dataset("synth", rows, Catalogue(known, categories=tastes), (f"made up: {plan}",))


def checkerboard(users: int = 12, items: int = 10) -> Split:
    """A board on which everybody likes every item of one colour, and whose right answer is known.

    One row per user is withheld and is the test part: it is the only item of the user's colour she has not met,
    and her newest. A recommender that sees the colours puts it first for everybody.
    """
    if users < 8 or items < 6:
        raise SettingError(f"a checkerboard needs 8 users and 6 items or more, but got {users} and {items}.")
    u, i = (grid.ravel() for grid in np.meshgrid(np.arange(users), np.arange(items), indexing="ij"))
    same = (u + i) % 2 == 0
    u, i = u[same], i[same]
    of_colour = (items + 1 - u % 2) // 2  # items of the user's colour
    held_out = i // 2 == (u // 2) % of_colour
    time = FIRST_SECOND + np.where(held_out, items, i)
    data = Interactions.of(u, i, np.ones(len(u)), time)
    return Split("checkerboard", data, np.where(held_out, TEST, TRAIN).astype(np.uint8))


def board() -> Dataset:
    """The checkerboard as a data set; leaving out each user's newest row withholds the known answer."""
    data = checkerboard().data
    return Dataset("checkerboard", data, Catalogue(data.items))


@dataclass(frozen=True, eq=False)
class ItemLine:
    """The items side by side on a line, each as long as it is popular, those of a taste next to each other."""

    item: Longs  # (items,) which one lies where
    edges: Floats  # (items + 1,) where each begins, and the end
    bounds: Floats  # (groups + 1,) where each taste begins, and the end

    @staticmethod
    def of(plan: SyntheticSettings, rng: np.random.Generator, group_of_item: Ints) -> ItemLine:
        """Popularity is drawn."""
        by_group = np.argsort(group_of_item, kind="stable")
        popularity = (1.0 + rng.permutation(plan.items)) ** -plan.skew
        edges = np.concatenate(([0.0], np.cumsum(popularity[by_group] / popularity.sum())))
        bounds = edges[np.searchsorted(group_of_item[by_group], np.arange(plan.groups + 1))]
        return ItemLine(by_group, edges, bounds)

    def draw(self, plan: SyntheticSettings, rng: np.random.Generator, own: Ints) -> Longs:
        """An item for each taste, by popularity: of that taste, or of all."""
        faithful = rng.random(len(own)) < plan.taste
        low = np.where(faithful, self.bounds[own], 0.0)
        high = np.where(faithful, self.bounds[own + 1], self.edges[-1])
        place = np.searchsorted(self.edges, low + (high - low) * rng.random(len(own)), side="right") - 1
        return self.item[np.minimum(place, plan.items - 1)]


def distinct_pairs(
    plan: SyntheticSettings, rng: np.random.Generator, wanted: Longs, line: ItemLine, group_of_user: Ints
) -> Longs:
    """Distinct user * items + item, ascending, `wanted` of each user."""
    done: list[Longs] = []  # the pairs of users who have all of theirs
    pairs: Longs = np.zeros(0, np.int64)
    short = wanted
    attempt = 0
    while short.any():
        user = np.repeat(np.arange(plan.users, dtype=np.int64), short)
        drawn: Longs = np.empty(len(user), np.int64)
        for first in range(0, len(user), BLOCK):
            block = slice(first, first + BLOCK)
            own = group_of_user[user[block]]
            uniform = attempt >= PATIENCE
            item = rng.integers(plan.items, size=len(own)) if uniform else line.draw(plan, rng, own)
            drawn[block] = user[block] * plan.items + item
        pairs = _distinct(np.concatenate([pairs, drawn]))
        owner = pairs // plan.items
        waiting = short > 0
        short = np.where(waiting, wanted - np.bincount(owner, minlength=plan.users), 0)
        done.append(pairs[short[owner] == 0])
        pairs = pairs[short[owner] > 0]
        attempt += 1
    return np.sort(np.concatenate(done))


def _distinct(numbers: Longs) -> Longs:
    """Each number once, ascending. (np.unique hashes, which takes minutes for numbers as regular as these.)"""
    ordered = np.sort(numbers)
    first = np.ones(len(ordered), np.bool_)
    first[1:] = ordered[1:] != ordered[:-1]
    return ordered[first]


def activity(plan: SyntheticSettings, rng: np.random.Generator) -> Longs:
    """How many rows each user has: one at least, at most half the items, the rest by 1 / sqrt(rank)."""
    most = max(1, plan.items // 2)
    weight = (1.0 + rng.permutation(plan.users)) ** -0.5
    counts: Longs = np.ones(plan.users, np.int64)
    left = plan.interactions - plan.users
    while left > 0:
        open_ = counts < most
        share = np.where(open_, weight, 0.0)
        extra = np.minimum(np.floor(left * share / share.sum()).astype(np.int64), most - counts)
        if left < open_.sum() or not extra.any():  # one row each, the most active first
            extra = np.zeros(plan.users, np.int64)
            extra[np.argsort(-share, kind="stable")[: min(left, int(open_.sum()))]] = 1
        counts += extra
        left = plan.interactions - int(counts.sum())
    return counts


def refuse_impossible(plan: SyntheticSettings) -> None:
    """Refuse more rows than there are pairs, and fewer than people."""
    most = plan.users * max(1, plan.items // 2)
    if not plan.users <= plan.interactions <= most:
        raise SettingError(
            f"synth.interactions must be between {plan.users:,} (one per user) and {most:,} (half of all "
            f"pairs), but is {plan.interactions:,}."
        )
    if plan.groups > plan.items:
        raise SettingError(f"synth.groups must be at most the {plan.items:,} items, but is {plan.groups:,}.")


def write_synthetic(
    folder: Path, plan: SyntheticSettings, size: int = RANGE, progress: Progress = SILENT
) -> PopulationFiles:
    """Write the population of a plan; the same plan and size of a range give the same bytes."""
    refuse_impossible(plan)
    rng = np.random.default_rng(plan.seed)
    group_of_item = (rng.permutation(plan.items) % plan.groups).astype(np.int32)
    line, writer = ItemLine.of(plan, rng, group_of_item), PopulationWriter(folder, plan.items)
    progress.begin("clients", plan.users)
    try:
        for first in range(0, plan.users, size):
            last = min(first + size, plan.users)
            writer.add(_range(plan, line, first, last))
            progress.advance(last - first)
    finally:
        progress.end()
    return writer.close(f"made up: {plan}")


def _range(plan: SyntheticSettings, line: ItemLine, first: int, last: int) -> Rows:
    """Clients first to last, who have the share of the rows that is due to so many people."""
    before, after = (plan.interactions * place // plan.users for place in (first, last))
    here = changed(plan, users=last - first, interactions=after - before)
    rng = np.random.default_rng((plan.seed, first))
    group_of_user = (rng.permutation(here.users) % plan.groups).astype(np.int32)
    wanted = activity(here, rng)
    pairs = distinct_pairs(here, rng, wanted, line, group_of_user)
    start = np.concatenate(([0], np.cumsum(wanted)))
    return Rows(start, (pairs % plan.items).astype(np.int32))
