/** Which requests tell something about a person, and which only fetch what is public. */

import type { TrafficEntry } from "../device/types.ts";

/** Whatever has a body, or gives a place back. */
export function isUpload({ bytes, method }: TrafficEntry): boolean {
  return bytes > 0 || method === "DELETE";
}
