/** What the noise of a federation is and what it bounds, as the terms state it. */

import { AGAINST, composed, epsilonOf, UNIT } from "../channel/accountant.ts";
import { forged } from "../refusals.ts";
import type { NoiseTerms } from "./signed_records.ts";

const ROUNDING = 1e-7; // of epsilon: far below what anybody reads of it

export function isNoisy(noise: NoiseTerms): boolean {
  return Object.keys(noise.multipliers).length > 0;
}

/** Refuse terms whose noise does not bound what they say, or bounds it for someone else. */
export function checkNoise(noise: NoiseTerms): void {
  const { epsilon, delta, multipliers, answers, unit, against } = noise;
  if (!isNoisy(noise)) {
    if (epsilon || delta || unit || against || Object.keys(answers).length) {
      throw forged("terms without noise must claim no epsilon, but do.");
    }
    return;
  }
  const phases = Object.keys(multipliers).sort();
  if (phases.join(" ") !== Object.keys(answers).sort().join(" ") || !(delta > 0 && delta < 1)) {
    throw forged("noise must have a multiplier and a number of answers for each phase, and a delta.");
  }
  if (unit !== UNIT || against !== AGAINST) {
    throw forged("noise must be stated for the unit and against whom this page knows it to hold.");
  }
  const found = epsilonOf(composed(phases.map((name) => [multipliers[name]!, answers[name]!] as const)), delta);
  if (found > epsilon * (1 + ROUNDING)) {
    throw forged(
      `the noise of the terms must bound what is revealed to epsilon ${epsilon}, but bounds it to ` +
        `${found.toPrecision(3)}; take no part.`,
    );
  }
}
