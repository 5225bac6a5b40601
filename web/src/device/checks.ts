/** What a device checks of a manifest that is signed and logged: is it new, in order, and for this device? */

import { fromHex } from "../bytes.ts";
import type { Phase } from "../methods/method.ts";
import { inPublicPart } from "../numerics/philox.ts";
import type { Manifest } from "../protocol/manifest.ts";
import type { FederationTerms } from "../protocol/terms.ts";
import { forged, malformed, RefusedError } from "../refusals.ts";
import { isExact } from "./facts.ts";
import { answers, type DeviceMemory, TRAINING } from "./memory.ts";
import { DeviceError } from "./types.ts";

const SHORTEST_WINDOW = 3600; // seconds

/** Refuse to join a federation that releases the same sum so often that two of them show who came between. */
export function checkWindows(terms: FederationTerms): void {
  const { seconds } = terms.fields.windows;
  if (seconds > 0 && seconds < SHORTEST_WINDOW) {
    throw forged(
      `a release window must last at least ${SHORTEST_WINDOW} seconds, but lasts ${seconds}: sums of two of them ` +
        "would show who came between; do not join.",
    );
  }
}

/** Refuse to join a federation of which everybody can read sums without noise, unless its owner allows that. */
export function checkExact(terms: FederationTerms, allowed: boolean): void {
  if (isExact(terms) && !allowed) {
    throw new DeviceError(
      "sums that everybody can read must have noise, but have none in this federation; allow it on the page about " +
        "sharing, or share nothing.",
    );
  }
}

/** Whether there is still something to do; refuses a coordinator that says two different things. */
export function isNew(manifest: Manifest, memory: DeviceMemory, terms: FederationTerms, now: number): boolean {
  const { serial, round, phase, window } = manifest;
  if (serial < memory.serial) {
    throw new RefusedError("replay", `manifest ${serial} comes after ${memory.serial}; take no part.`);
  }
  if (serial === memory.serial) {
    if (manifest.name === memory.manifest) return false;
    throw forged("the coordinator shows two different manifests for one round; take no part.");
  }
  if (serial === memory.serial + 1 && manifest.previous !== memory.manifest) {
    throw forged("the manifest must follow the one this device has seen before it; take no part.");
  }
  const again = memory.pending?.manifest === manifest.name;
  if (!again && memory.exchanges.some(([at, name]) => at === round && name === phase)) {
    throw new RefusedError("replay", "this exchange was answered before under another manifest; take no part.");
  }
  // only of the last ones much is remembered; and one number twice would be one randomness for two updates
  const lastWindow = Math.max(0, ...memory.answered.map((one) => one.window));
  const lastRound = Math.max(0, ...memory.exchanges.map(([at]) => at));
  if (window < lastWindow)
    throw new RefusedError("replay", `window ${window} must not come after ${lastWindow}; take no part.`);
  if (round < lastRound)
    throw new RefusedError("replay", `round ${round} must not come after ${lastRound}; take no part.`);
  if (!terms.isWindow(window, now))
    throw forged(`window ${window} must be that of the time, but is not; take no part.`);
  return true;
}

/** Why this exchange is not for this device now: it has answered, or another part is asked; null: it is. */
export function unasked(
  manifest: Manifest,
  phase: Phase,
  memory: DeviceMemory,
  terms: FederationTerms,
  place: number,
): { kind: "declined" | "not-called"; why: string } | null {
  const { window } = manifest;
  const again = Number(memory.pending?.manifest === manifest.name);
  if (phase.repeat !== null && answers(memory, phase.name, window) >= phase.repeat + again) {
    const why = `phase '${phase.name}' was answered in window ${window}; a second answer would show what this device adds`;
    return { kind: "declined", why };
  }
  const most = terms.fields.noise.answers[phase.name];
  if (phase.repeat === null && most !== undefined && answers(memory, phase.name, TRAINING) >= most + again) {
    return {
      kind: "declined",
      why: `phase '${phase.name}' was answered ${most} times, as often as the noise allows for`,
    };
  }
  if (phase.follows && !answers(memory, phase.follows, window)) {
    return { kind: "declined", why: `this device was not counted in phase '${phase.follows}'` };
  }
  if (manifest.part !== phase.part || (manifest.part_seed !== "") !== phase.part < 1) {
    throw malformed("a manifest must ask the part of the devices its phase declares.");
  }
  if (phase.part === 1) return null;
  const seed = fromHex(manifest.part_seed);
  if (seed.length !== 16) throw malformed("the seed of a part must have 16 bytes.");
  return inPublicPart(seed, place, phase.part)
    ? null
    : { kind: "not-called", why: "another part of the devices is asked" };
}

/** Refuse pairs that nothing holds against what was counted, and a phase that the noise of the terms does not bound. */
export function checkPhase(phase: Phase, terms: FederationTerms, clients: number): void {
  const { admission, noise } = terms.fields;
  if (admission === "open" && !terms.readable && phase.follows && isExact(terms)) {
    throw forged(
      "exact sums of pairs must be of admitted devices, as only an admission links pairs to what it had counted, but " +
        "everybody may take part; take no part.",
    );
  }
  if (!Object.keys(noise.multipliers).length) return;
  const people = Math.max(clients, terms.channel.minimum_cohort);
  const bounded = phase.name in noise.multipliers && (phase.repeat ?? 0) <= (noise.answers[phase.name] ?? 0);
  const exact = phase.claim?.kind === "pairs" || phase.sends.tables.some((one) => one.exact);
  if (noise.delta * people > 1 || !bounded || exact) {
    throw forged(
      `the noise of the terms must bound every answer to phase '${phase.name}', but does not; take no part.`,
    );
  }
}
