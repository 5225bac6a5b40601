/** What was measured about a method at some share, as docs/results has it; everything else is said not to be. */

import type { FederationFacts } from "../device/types.ts";
import measured from "./measured.json";
import { texts } from "./texts.ts";

/** The odds of an attack that was tried, for the method and the noise at hand; it was tried where everyone shares everything. */
export function observerText({ method, epsilon }: FederationFacts, pi: number): string {
  const found = measured.observer.find((one) => one.method === method && one.epsilon === epsilon);
  if (!found) return texts.share.notMeasured;
  const said = found.says.replace("{odds}", String(Math.round(100 * found.value)));
  const where = texts.measured.observed(measured.data);
  return pi === 1 ? `${said} ${where}` : `${texts.measured.otherShare} ${said} ${where}`;
}

/** How good the lists of everyone would be, in right titles among a hundred shown. */
export function everyoneText({ method }: FederationFacts, pi: number): string {
  const found = measured.everyone.find((one) => one.method === method && Math.abs(one.pi - pi) < 0.005);
  return found ? texts.measured.everyone((100 * found.value).toFixed(1), measured.data) : texts.share.notMeasured;
}
