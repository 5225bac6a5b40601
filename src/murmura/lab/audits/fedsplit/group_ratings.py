"""What a FedSPLIT group's update adds to ratings somebody knows already (the paper's section 4.4).

The adversary has H, b_H and mu, knows how many people are in the group and some of their ratings, and fits W
and b_W to those (equations 12 and 10, H and b_H held still); equation 7 then estimates the others. An update
with counts, and mean ratings in place of b_H, says more: what the ratings of an item add up to.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from murmura.core.arrays import Floats
from murmura.kernels.factorisation.cnmf_steps import CnmfRates, Factors, fit_users, predict
from murmura.kernels.sparse import Sparse
from murmura.lab.audits.attack import AdversaryKnowledge, ObservedUpdates, RatingAttack, RatingQuestion
from murmura.lab.audits.fedsplit.group_updates import balanced, update_table

PRIOR_RATINGS = 5.0  # a person's known ratings are averaged with so many of mu


class FedSplitRatings(RatingAttack):
    """W and b_W fitted to the known ratings against the group's own H and b_H."""

    name: ClassVar[str] = "fedsplit-ratings"
    title: ClassVar[str] = "ratings, from the letter and those known already"
    against: ClassVar[tuple[str, ...]] = ("fedsplit",)

    def estimates(self, observed: ObservedUpdates, known: AdversaryKnowledge, asked: RatingQuestion) -> Floats:
        """Equation 7; somebody of whom no rating is known is estimated by mu + b_H."""
        sent_update = next(one for one in observed.phase("factors") if one.client == asked.client)
        k, mu = int(known.settings["factors"]), float(sent_update.model["mu"][0])
        table = update_table(sent_update, known.info.items)
        rates = CnmfRates(*(float(known.settings[name]) for name in CnmfRates._fields))
        H, b_h = table[:, :k], table[:, k]
        hints = Sparse.of_people(asked.hints.owners, asked.hints.item, asked.hints.value, asked.people)
        W, b_w = fit_users(hints, H, b_h, mu, rates)
        guesses = predict(Factors(W, H, b_w, b_h), mu, asked.person, asked.item)
        if known.settings.get("bias") != "means":
            return guesses
        counts, clip = table[:, k + 1], known.settings.get("clip")
        totals = counts * (mu + table[:, k])
        said = counts if clip is None else np.where(np.abs(table[:, k]) < clip, counts, -1)  # not a bound's
        return balanced(guesses, asked.person, asked.item, asked.hints, totals, said)


class HintsAlone(RatingAttack):
    """Reads mu and no update: everyone rates everything like the mean of what is known of her."""

    name: ClassVar[str] = "hints"
    title: ClassVar[str] = "no letter read: the mean of a person's known ratings"

    def estimates(self, observed: ObservedUpdates, known: AdversaryKnowledge, asked: RatingQuestion) -> Floats:
        """mu, moved towards the known ratings of the person."""
        mu = float(observed.phase("factors")[0].model["mu"][0])
        hints, people = asked.hints, asked.people
        counts = np.bincount(hints.owners, minlength=people)
        sums = np.bincount(hints.owners, hints.value, minlength=people)
        means: Floats = (sums + PRIOR_RATINGS * mu) / (counts + PRIOR_RATINGS)
        return means[asked.person]
