"""What a FedSPLIT update says of items its group has not rated, so that it does not name those it has; ours.

As printed, only a rated item's factors and bias differ from zero: an update shows the group's items exactly.
With `unrated` other than "zero" an update has a row for every item on offer, after one more sum in exchange 0:
every item's ratings, added up over all groups, give a public prior (its mean, and how many people rate it).

prior    an unrated item is sent with the prior's bias and the mean factors of the group's rated items. Whoever
         knows the prior still tells it from a rated one, as the audit shows: it hides nothing from a reader
         who compares.
decoys   for every unrated item the group draws how many of its people might have rated it, who, and how, from
         the prior and its own spread of ratings, and factorises these ratings together with its own. Then W and
         b_W are fitted again to the true ratings alone. The rows of both kinds come from the same process; what
         still differs is how far true ratings are from the prior.

The sum has to be a secure one: a server that reads each group's part of it reads the items there.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from murmura.algorithms.fedsplit.groups import LocalModel
from murmura.core.arrays import Floats, Ints
from murmura.core.contract import FederationInfo, History
from murmura.core.rng import Stream
from murmura.kernels.factorisation.cnmf_steps import CnmfSettings, Factors, factorise
from murmura.kernels.sparse import Sparse

SHRINK = 5.0  # an item's mean is averaged with so many ratings of mu
LEAST, MOST = 1e-3, 0.95  # nobody is taken to rate an item less or more surely


def prior_sums(rows: History, items: int) -> Floats:
    """What a group adds to the prior: of every item the sum of its shared ratings and their number."""
    return np.column_stack([np.bincount(rows.item, rows.value, items), np.bincount(rows.item, minlength=items)])


def prior_of(sums: Floats, mu: float, people: float) -> Floats:
    """The public prior: an item's bias, and the share of people who rate it: (items, 2)."""
    total, count = sums.astype(np.float64).T
    return np.column_stack([(total - mu * count) / (count + SHRINK), count / max(people, 1.0)])


def with_decoys(
    history: History, people: Ints, info: FederationInfo, prior: Floats, mu: float, stream: Stream
) -> History:
    """These ratings of a group of `people`, and made-up ones of every item on offer that has none."""
    missing = info.listed[~np.isin(info.listed, history.item)]
    place = np.searchsorted(people, history.owners)
    rows = np.bincount(place, minlength=len(people))
    left = history.value - mu - prior[history.item, 0]
    offset = np.bincount(place, left, len(people)) / (rows + SHRINK)
    spread = float(np.sqrt(np.mean((left - offset[place]) ** 2))) if len(history) else 1.0
    busy = np.maximum(rows, 1) / max(1.0, float(prior[info.listed, 1].sum()))
    who, which = _raters(np.clip(busy[:, None] * prior[missing, 1], LEAST, MOST), stream)
    values = mu + prior[missing[which], 0] + offset[who] + spread * stream.normals(len(who))
    scale = np.unique(history.value) if len(history) else np.array([max(mu, 1.0)])
    values = scale[np.abs(values[:, None] - scale).argmin(axis=1)]
    item = np.concatenate([history.item, missing[which]]).astype(np.int32)
    person = np.concatenate([history.owners, people[who]]).astype(np.int32)
    order = np.lexsort((item, person))
    return History(
        item[order], np.concatenate([history.value, values])[order], np.ones(len(item)), person[order]
    )


def _raters(chance: Floats, stream: Stream) -> tuple[Ints, Ints]:
    """Who rates which item, each with her own chance (people, items), given that somebody does."""
    people, items = chance.shape
    none_later = np.cumprod((1 - chance)[::-1], axis=0)[::-1]  # none of this one and those after her
    rated = np.zeros((people, items), np.bool_)
    for one in range(people):
        certain = np.where(rated[:one].any(axis=0), 1.0, 1 - none_later[one])
        given = np.divide(chance[one], certain, out=np.ones(items), where=certain > 0)
        rated[one] = stream.coins(np.minimum(given, 1.0))
    rated[-1] |= ~rated.any(axis=0)  # a chance of 1 that rounding took away
    who, which = np.nonzero(rated)
    return who.astype(np.int32), which.astype(np.int32)


def fill_unrated(local: LocalModel, info: FederationInfo, prior: Floats) -> LocalModel:
    """The same with a row for every item on offer: an unrated one has the prior's bias and mean factors."""
    n = len(info.listed)
    mean = local.H.sum(axis=0) / max(1, len(local.items))
    H, b_h = np.tile(mean, (n, 1)), prior[info.listed, 0].copy()
    counts, residual = np.ones(n), prior[info.listed, 0].copy()
    place = np.searchsorted(info.listed, local.items)
    H[place], b_h[place] = local.H, local.b_h
    counts[place], residual[place] = local.counts, local.mean_residual
    return replace(local, items=info.listed, H=H, b_h=b_h, counts=counts, mean_residual=residual)


def refit_user_factors(
    local: LocalModel, history: History, mu: float, method: CnmfSettings, items: int
) -> LocalModel:
    """W and b_W fitted to the true ratings, H and b_H as they are sent."""
    everywhere = local.everywhere(items)
    start = Factors(local.W, everywhere["H"], local.b_w, everywhere["b_h"])
    ratings = Sparse.of_users(history.owners, history.item, history.value, len(local.b_w))
    found, _ = factorise(ratings, start, mu, method.rates, method.epochs, items=False)
    return replace(local, W=found.W, b_w=found.b_w)
