/** The device of the golden training steps. */

import type { FederationInfo } from "../src/channel/layout.ts";
import type { History } from "../src/methods/method.ts";
import { vectors } from "./vectors.ts";

export const golden = vectors("training");
export const info: FederationInfo = {
  items: golden.items,
  listed: golden.listed,
  clients: golden.clients,
  interactions: golden.interactions,
  people: 1,
  counts: null,
};
export const history: History = {
  item: Int32Array.from(golden.own),
  value: new Float64Array(3).fill(1),
  consent: new Float64Array(3).fill(1),
  time: null,
};
