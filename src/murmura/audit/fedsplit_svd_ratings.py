"""What a letter of singular vectors says about single ratings, with a few of them known or none at all.

A group's letter holds P, the item parts of J = [X, c M] = U P' (`fedsplit_svd`). The adversary lacks U, one row
of k numbers for each person, but the premise of the paper's section 4.4 gives it away: who knows which items
somebody rated knows her row of M, and M_u = P_m U_u / c are many equations for k unknowns. X_u = P_x U_u then
are her ratings less mu and less her bias b_u, and even that is said: as b_u is a shrunk mean, X_u adds up to
b_u times the shrinkage. In a group of no more than k people all of this is exact.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from murmura.audit.attack import Known, Observed, RatingAttack, Ratings
from murmura.audit.letters import balanced, letter_table
from murmura.core.arrays import Floats, Ints

BIAS_VARIANCE = 0.2  # of people's biases, in squared stars, before anything is known
EXACT = 1e-9  # the least variance: of what the letter says without loss


class FedSplitSvdRatings(RatingAttack):
    """Everyone's row of U and bias by least squares; then each item's ratings add up to its sum."""

    name: ClassVar[str] = "fedsplit-svd-ratings"
    title: ClassVar[str] = "ratings, from singular vectors, who rated what and those known already"
    against: ClassVar[tuple[str, ...]] = ("fedsplit-svd",)

    def estimates(
        self, observed: Observed, known: Known, client: int, hints: Ratings, person: Ints, item: Ints
    ) -> Floats:
        """mu + b_u + X, as far as the letter tells."""
        letter = next(one for one in observed.phase("factors") if one.client == client)
        k, mu = int(known.settings["factors"]), float(letter.model["mu"].reshape(-1)[0])
        shrink = float(known.settings["shrink_bias"])
        table = letter_table(letter, known.public.items)
        ratings, mask, sums, counts = table[:, :k], table[:, k : 2 * k], table[:, 2 * k], table[:, 2 * k + 1]
        people = int(person.max(initial=0)) + 1
        lost = max(EXACT, 1 - float((mask**2).sum()) / max(1.0, float(counts.sum())))  # of who rated what
        quiet = max(EXACT, lost * float(counts.sum()) / max(1.0, people * float((counts > 0).sum())))
        b, x = np.zeros(people), np.zeros(len(item))
        seen = mask.T @ mask / quiet
        for one in range(people):
            here, told = person == one, hints.person == one
            own, rows, less_mu = item[here], ratings[hints.item[told]], hints.value[told] - mu
            rest = ratings[np.setdiff1d(own, hints.item[told])]
            # Unknown are U_u and b_u. A line is one equation: its factors, its right-hand side, its variance.
            link = np.append(rest.sum(axis=0), -shrink - len(rows))
            lines = np.vstack([np.column_stack([rows, np.ones(len(rows))]), link])
            right = np.append(less_mu, -less_mu.sum())
            weight = 1 / np.append(np.full(len(rows), lost), max(EXACT, lost * len(rest)))
            gram = (lines.T * weight) @ lines
            gram[:k, :k] += seen
            gram[k, k] += 1 / BIAS_VARIANCE
            side = lines.T @ (weight * right)
            side[:k] += mask[own].sum(axis=0) / quiet
            found = np.linalg.lstsq(gram, side, rcond=1e-12)[0]
            b[one], x[here] = found[k], ratings[own] @ found[:k]
        guesses: Floats = mu + b[person] + x
        totals = sums + np.bincount(item, mu + b[person], minlength=len(sums))
        return balanced(guesses, person, item, hints, totals, counts)
