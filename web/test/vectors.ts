/** The golden vectors of the repository, read by every implementation. */

import { readFileSync } from "node:fs";

export type Plain = any;

export function vectors(name: string): Plain {
  return JSON.parse(readFileSync(new URL(`../../vectors/${name}.json`, import.meta.url), "utf-8"));
}
