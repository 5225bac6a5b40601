/** What was measured about a method at some share, as docs/results has it; everything else is said not to be. */

import type { FederationFacts } from "../device/types.ts";
import measured from "./measured.json";
import { texts } from "./texts.ts";

type Group = Pick<FederationFacts, "method" | "epsilon" | "minimum">;

/** The odds of an attack on sums of so many people, by this method with this noise, where everyone shares everything. */
export function observerText({ method, epsilon, minimum }: Group, pi: number): string {
  const found = measured.observer.find(
    (one) => one.method === method && one.epsilon === epsilon && one.cohort === minimum,
  );
  if (!found) return texts.measured.notMeasured(minimum);
  const said = texts.measured.matched(Math.round(100 * found.value), found.cohort);
  const where = texts.measured.observed(measured.data);
  return pi === 1 ? `${said} ${where}` : `${texts.measured.otherShare} ${said} ${where}`;
}

/** What this share does to the lists of who chooses it while others share everything, and what may be found of her then. */
export function levelText({ method, epsilon }: Pick<FederationFacts, "method" | "epsilon">, pi: number): string {
  const found = measured.levels.find(
    (one) => one.method === method && one.epsilon === epsilon && Math.abs(one.pi - pi) < 0.005,
  );
  if (!found) return texts.share.notMeasured;
  const [lists, without] = [found.lists, found.without].map((one) => (100 * one).toFixed(1));
  return texts.measured.level(lists!, without!, Math.round(100 * found.found), measured.data);
}

/** How good the lists of everyone would be, in right titles among a hundred shown. */
export function everyoneText({ method }: Pick<FederationFacts, "method">, pi: number): string {
  const found = measured.everyone.find((one) => one.method === method && Math.abs(one.pi - pi) < 0.005);
  return found ? texts.measured.everyone((100 * found.value).toFixed(1), measured.data) : texts.share.notMeasured;
}
