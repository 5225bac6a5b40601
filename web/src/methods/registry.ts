/** The methods this page can train, by the name the terms have. */

import { RefusedError } from "../refusals.ts";
import { Cfpl } from "./cfpl.ts";
import { Cooccurrence } from "./cooccurrence.ts";
import { Kgflex } from "./kgflex.ts";
import type { Method } from "./method.ts";

const METHODS: Record<string, (settings: Record<string, unknown>) => Method> = {
  ...Object.fromEntries(["cfpl", "dp-cfpl", "sfpl", "sfpl+", "pfpl", "pfpl+"].map((name) => [name, Cfpl.of])),
  ...Object.fromEntries(["fed-ease", "fed-item-knn", "fed-order"].map((name) => [name, Cooccurrence.of])),
  ...Object.fromEntries(["kgflex", "ckgflex"].map((name) => [name, Kgflex.of])),
};

/** A method as terms name it. */
export interface NamedMethod {
  method: string;
  settings: Record<string, unknown>;
}

/** The method as it is configured; refuses one this page does not know. */
export function methodOf({ method, settings }: NamedMethod): Method {
  const made = Object.hasOwn(METHODS, method) ? METHODS[method] : undefined;
  if (!made || "criteria" in settings) {
    throw new RefusedError("version", `the terms ask for the method '${method.slice(0, 40)}', unknown to this page.`);
  }
  return made(settings);
}
