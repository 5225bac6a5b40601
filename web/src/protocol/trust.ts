/** What a device believes: the terms it pinned when it joined, and a log that only ever grows. */

import { fromHex, toHex } from "../bytes.ts";
import { unpackPair } from "../message/arrays.ts";
import { forged, RefusedError } from "../refusals.ts";
import { checkElsewhere } from "./addresses.ts";
import { isExtended, LogProof, readModelEntry, type SeenHead, unpackHashes } from "./log.ts";
import { LARGEST_ENVELOPE, SignedManifest } from "./manifest.ts";
import { FederationTerms, SIGNED_TERMS_BYTES } from "./terms.ts";
import { ask, type Transport } from "./transport.ts";

/** The federation goes on under other terms than those this device joined with. */
export class TermsChangedError extends RefusedError {
  override name = "TermsChangedError";

  constructor(
    readonly offered: FederationTerms,
    readonly changes: string[],
  ) {
    super(
      "forged",
      `the federation's terms must stay as they were joined, but changed (${changes.join("; ")}); nothing is sent.`,
    );
  }
}

/**
 * The servers show a shorter log than this device has seen, or another past: they were restored, or lie. That may pass:
 * an old answer of a cache, or a newer copy that is put in place of the older one.
 */
export class GoneBackError extends RefusedError {
  override name = "GoneBackError";

  constructor(code: string, seen: number, shown: string) {
    super(
      code,
      `the servers have gone back to an older copy, or lie: this device has seen ${seen} entries of the log, ` +
        `but ${shown}; it sends nothing, keeps everything and looks again later.`,
    );
  }
}

/** What a federation is; refuses another fingerprint, or terms that one of its machines has not signed. */
export async function fetchTerms(send: Transport, url: string, fingerprint: Uint8Array): Promise<FederationTerms> {
  const request = { method: "GET", url: `${url}/terms`, purpose: "terms", largest: SIGNED_TERMS_BYTES } as const;
  const terms = await FederationTerms.decodeSigned((await ask(send, request)).body);
  if (terms.name !== toHex(fingerprint)) {
    throw forged(
      `the federation at ${url} must be the one of the invitation, but has other terms (${terms.name.slice(0, 16)}…); ` +
        "do not join it.",
    );
  }
  const named = terms.aggregators.map((one) => one.url);
  checkElsewhere(url, named);
  return terms;
}

/** A manifest everybody is shown: under the pinned terms, signed by all, in a log that extends `before`. */
export async function verified(
  message: Uint8Array,
  terms: FederationTerms,
  before: SeenHead | null,
  send: Transport,
  url: string,
): Promise<SignedManifest> {
  const signed = await SignedManifest.decode(message);
  const { manifest, proof } = signed;
  if (manifest.terms !== terms.name) {
    const offered = await fetchTerms(send, url, fromHex(manifest.terms));
    throw new TermsChangedError(offered, terms.differences(offered));
  }
  await signed.check(terms);
  if (manifest.federation !== terms.fields.federation) {
    throw forged("the manifest must be of the federation this device joined, but is not.");
  }
  if (before)
    await checkGrown(proof.head.seen, before, before.size === proof.before ? proof.consistency : [], send, url);
  return signed;
}

/** Refuse a head that does not extend the one seen before; a proof that is not here is asked for. */
export async function checkGrown(
  head: SeenHead,
  before: SeenHead,
  brought: readonly Uint8Array[],
  send: Transport,
  url: string,
): Promise<void> {
  if (head.size < before.size) throw new GoneBackError("replay", before.size, `only ${head.size} are shown`);
  let proof = head.size === before.size ? [] : brought;
  if (!proof.length && before.size < head.size) {
    const at = `${url}/log/consistency/${before.size}/${head.size}`;
    proof = unpackHashes((await ask(send, { method: "GET", url: at, purpose: "log" })).body);
  }
  if (!(await isExtended(head, before, proof))) throw new GoneBackError("forged", before.size, "another past is shown");
}

/** The last round that was completed, for someone who came later; null before the first. */
export async function lastVerified(
  send: Transport,
  url: string,
  terms: FederationTerms,
  before: SeenHead | null,
): Promise<SignedManifest | null> {
  const reply = await orUnknown(() =>
    ask(send, { method: "GET", url: `${url}/round/last`, purpose: "round", largest: LARGEST_ENVELOPE }),
  );
  if (reply === null) return null;
  const signed = await SignedManifest.decode(reply.body);
  const shown = signed.proof.head.seen;
  if (before && shown.size < before.size) {
    await signed.check(terms); // of an earlier stage of the log that this device knows
    await checkGrown(before, shown, [], send, url);
    return signed;
  }
  return verified(reply.body, terms, before, send, url);
}

export interface LoggedModel {
  model: string;
  counts: string; // "" where it tells none
  head: SeenHead;
}

/** The newest model in the public log, which is no model of one's own; null before the first. */
export async function newestModel(
  send: Transport,
  url: string,
  terms: FederationTerms,
  before: SeenHead | null,
): Promise<LoggedModel | null> {
  const reply = await orUnknown(() => ask(send, { method: "GET", url: `${url}/model`, purpose: "newest model" }));
  if (reply === null) return null;
  const [entry, content] = unpackPair(reply.body);
  const proof = LogProof.decode(content);
  await proof.check(terms, entry);
  const { model, counts } = readModelEntry(entry);
  if (before) await checkGrown(proof.head.seen, before, [], send, url);
  return { model, counts, head: proof.head.seen };
}

/** The answer, or null where there is nothing yet. */
export async function orUnknown<T>(asked: () => Promise<T>): Promise<T | null> {
  try {
    return await asked();
  } catch (error) {
    if (error instanceof RefusedError && error.code === "unknown") return null;
    throw error;
  }
}
