/** Who a device is: made when an invitation is looked at, checked when a file brings it along. */

import { type Bytes, toHex } from "../bytes.ts";
import { ADMISSION_BYTES, type Invitation } from "../protocol/admission.ts";
import { checkAddress } from "../protocol/addresses.ts";
import { FederationTerms } from "../protocol/terms.ts";
import type { Identity } from "./memory.ts";
import { DeviceError, type PinnedBy } from "./types.ts";

const MINIMUM = 100; // devices in a sum, unless its owner says another number

/** A new one, or the known one of the same federation, which an invitation can only strengthen. */
export function identityOf(
  { url, admission }: Invitation,
  terms: FederationTerms,
  by: PinnedBy,
  known: Identity | undefined,
  entropy: (bytes: number) => Bytes,
): Identity {
  if (known && (known.url !== url || toHex(known.terms as Bytes) !== toHex(terms.content))) {
    throw new DeviceError(
      "this browser is in another federation, or in an older version of this one; leave that one first, on the page " +
        "about your data.",
    );
  }
  const pinnedBy = by === "invitation" ? by : (known?.pinnedBy ?? by);
  if (known) return { ...known, pinnedBy, admission: admission ?? known.admission };
  const words = new Uint32Array(entropy(8).buffer);
  return {
    url,
    terms: terms.content,
    pinnedBy,
    admission,
    secret: [words[0]!, words[1]!],
    token: toHex(entropy(32)),
    place: null,
    minimum: MINIMUM,
    readable: false,
    exact: false,
  };
}

/** What a file says a device is; refuses one of another page, and one that is no identity. */
export async function checkIdentity(read: unknown, origin: string | undefined): Promise<Identity> {
  const one = (read ?? {}) as Partial<Identity>;
  const { url, terms, admission, secret, token, place, minimum, readable } = one;
  const counted = (value: unknown) => Number.isInteger(value) && (value as number) >= 0 && (value as number) < 2 ** 32;
  const fits =
    typeof url === "string" &&
    terms instanceof Uint8Array &&
    (admission === null || (admission instanceof Uint8Array && admission.length === ADMISSION_BYTES)) &&
    Array.isArray(secret) &&
    secret.length === 2 &&
    secret.every(counted) &&
    typeof token === "string" &&
    /^[0-9a-f]{64}$/.test(token) &&
    (place === null || counted(place)) &&
    counted(minimum) &&
    typeof readable === "boolean";
  if (!fits) throw new DeviceError("the file must say which device it is of, but does not; choose another one.");
  if (origin !== undefined && url !== origin) {
    throw new DeviceError(`the file must be of the page at ${origin}, but is of another one; open it there.`);
  }
  checkAddress(url);
  await FederationTerms.decode(terms);
  const exact = one.exact === true; // files of earlier pages do not say
  return { ...(one as Identity), exact, pinnedBy: one.pinnedBy === "invitation" ? "invitation" : "server" };
}
