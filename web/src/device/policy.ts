/** Why the owner of a device would not want to take part in a round that is otherwise in order. */

import type { Manifest } from "../protocol/manifest.ts";
import type { FederationTerms } from "../protocol/terms.ts";
import { isNoisy } from "../protocol/noise.ts";
import { isExact } from "./facts.ts";
import { type DeviceMemory, epsilonSpent, type Identity, spending } from "./memory.ts";
import type { Permission } from "./types.ts";

/** The reason, in one clause; null: there is none. */
export function objection(
  own: Identity,
  terms: FederationTerms,
  memory: DeviceMemory,
  allowed: Permission,
  manifest: Manifest,
): string | null {
  const least = Math.min(terms.channel.minimum_cohort, manifest.called);
  if (least < own.minimum) {
    return `the round may release a sum of ${least} devices, but this one wants at least ${own.minimum}`;
  }
  if (manifest.hold + manifest.spread >= manifest.deadline - manifest.opened) {
    return "the round asks to be answered after it is over";
  }
  if (terms.readable && !own.readable) return "the server can read each update, and this device does not allow that";
  if (isExact(terms) && !own.exact) {
    return "everybody can read sums without noise, and this device does not allow that";
  }
  if (manifest.answers) return "the round brings an answer of one's own, which this page does not know";
  return ofNoise(terms, memory, allowed, manifest);
}

function ofNoise(terms: FederationTerms, memory: DeviceMemory, allowed: Permission, manifest: Manifest): string | null {
  const { noise } = terms.fields;
  if (allowed.epsilon === null) return null;
  if (!isNoisy(noise)) return "no noise is added to the sums, and this device asks for a bound on what they reveal";
  const again = memory.pending?.manifest === manifest.name;
  const after = epsilonSpent(again ? memory : spending(memory, noise.multipliers[manifest.phase] ?? 0), noise.delta);
  if (after <= allowed.epsilon) return null;
  return `this upload would bring epsilon to ${after.toPrecision(3)}, but ${allowed.epsilon} is allowed in all`;
}
