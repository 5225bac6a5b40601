/** What a device knows of its federation once an invitation was looked at: public, checked, and kept. */

import { ownAdmission } from "../protocol/admission.ts";
import { LARGEST_ENVELOPE } from "../protocol/manifest.ts";
import { FederationTerms } from "../protocol/terms.ts";
import { ask, type Transport } from "../protocol/transport.ts";
import { lastVerified, newestModel, verified } from "../protocol/trust.ts";
import { RefusedError } from "../refusals.ts";
import { Downloads } from "./downloads.ts";
import type { Identity } from "./memory.ts";
import type { Records } from "./records.ts";
import { Rounds, type Surroundings } from "./rounds.ts";
import type { Label } from "./types.ts";

export interface Pinned {
  identity: Identity;
  terms: FederationTerms;
  downloads: Downloads;
  rounds: Rounds;
  labels: readonly Label[];
  listed: readonly number[];
}

export async function pinned(identity: Identity, records: Records, around: Surroundings): Promise<Pinned> {
  const terms = await FederationTerms.decode(identity.terms);
  const downloads = new Downloads(identity.url, around.send, terms, records.storage);
  const { labels, info } = await downloads.description();
  const admission = identity.admission ? await ownAdmission(identity.admission) : null;
  const rounds = new Rounds(identity, terms, admission, records, downloads, around);
  return { identity, terms, downloads, rounds, labels, listed: info.listed };
}

/** Fetch the newest model that is in the log, or else that of the open round. */
export async function refreshModel(of: Pinned, records: Records, send: Transport): Promise<void> {
  const { terms, downloads } = of;
  const { url } = of.identity;
  const { log } = await records.memory();
  const logged = await newestModel(send, url, terms, log);
  if (logged) {
    const last = await lastVerified(send, url, terms, log);
    await downloads.newest(logged, last?.manifest.round ?? 0);
    return;
  }
  try {
    const request = { method: "GET", url: `${url}/round`, purpose: "round", largest: LARGEST_ENVELOPE } as const;
    const { manifest } = await verified((await ask(send, request)).body, terms, log, send, url);
    await downloads.model(manifest, await downloads.info(manifest));
  } catch (error) {
    if (!(error instanceof RefusedError) || !["paused", "finished"].includes(error.code)) throw error;
  }
}
