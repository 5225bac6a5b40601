/** What is public about a federation, as a screen shows it. */

import type { FederationInfo } from "../channel/layout.ts";
import { methodOf } from "../methods/registry.ts";
import { isNoisy } from "../protocol/noise.ts";
import type { FederationTerms } from "../protocol/terms.ts";
import type { Identity } from "./memory.ts";
import type { FederationFacts, Machine } from "./types.ts";

/** Whether everybody can read sums without noise: counts of items, or what pairs of them add up to. */
export function isExact({ fields }: FederationTerms): boolean {
  return methodOf(fields).releasesCounts && !isNoisy(fields.noise);
}

export function federationFacts(own: Identity, terms: FederationTerms, info: FederationInfo): FederationFacts {
  const { fields } = terms;
  const { noise } = fields;
  const noisy = isNoisy(noise);
  const roles = ["seed aggregator", "vector aggregator"] as const;
  const machines: Machine[] = [
    { role: "coordinator", url: own.url, key: fields.coordinator },
    ...terms.aggregators.map(({ url, key }, place) => ({ role: roles[place]!, url, key })),
  ];
  return {
    url: own.url,
    terms: terms.name,
    method: fields.method,
    minimum: terms.channel.minimum_cohort,
    readable: terms.readable,
    exact: isExact(terms),
    exactAllowed: own.exact === true, // what was kept before does not say
    clients: info.clients,
    people: info.people,
    epsilon: noisy ? noise.epsilon : null,
    delta: noisy ? noise.delta : null,
    unit: noise.unit,
    against: noise.against,
    machines,
    pinnedBy: own.pinnedBy === "invitation" ? "invitation" : "server", // what was kept before says nothing
    invited: own.pinnedBy === "invitation" && (fields.admission === "open" || own.admission !== null),
  };
}
