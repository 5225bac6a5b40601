/** A device's place in a federation: taken under a token of its own, by whoever was admitted. */

import { type Bytes, toHex, utf8 } from "../bytes.ts";
import { joinProof, type OwnAdmission } from "../protocol/admission.ts";
import type { FederationTerms } from "../protocol/terms.ts";
import { ask, bearer, jsonObject, type Transport } from "../protocol/transport.ts";
import { malformed, RefusedError } from "../refusals.ts";

const MOST_PLACES = 1 << 24;

/** Take a place under this token; asked again, it is the same place. */
export async function register(
  send: Transport,
  url: string,
  terms: FederationTerms,
  admission: OwnAdmission | null,
  token: string,
): Promise<number> {
  const body = await wanted(terms, admission, token);
  const reply = jsonObject(await ask(send, { method: "POST", url: `${url}/devices`, body, purpose: "join" }));
  const { slot } = reply;
  // under another token than its own it would be told apart from nobody; and its number is counted up to
  if (reply.token !== token || !Number.isInteger(slot) || (slot as number) < 0 || (slot as number) >= MOST_PLACES) {
    throw malformed("a place must have this device's token and a number, but has not.");
  }
  return slot as number;
}

/** The place under this token is free again. */
export async function giveUp(send: Transport, url: string, token: string): Promise<void> {
  await ask(send, { method: "DELETE", url: `${url}/devices/me`, headers: bearer(token), purpose: "leave" });
}

async function wanted(terms: FederationTerms, admission: OwnAdmission | null, token: string): Promise<Bytes> {
  if (terms.fields.admission === "open") return utf8(JSON.stringify({ token }));
  if (!admission) {
    throw new RefusedError("unauthorised", "this federation is for invited devices; open the page by an invitation.");
  }
  const proof = toHex(await joinProof(admission, terms.fields.federation, token));
  return utf8(JSON.stringify({ token, admission: toHex(admission.shown), proof }));
}
