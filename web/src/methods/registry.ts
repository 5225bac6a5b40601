/** The methods this page can train, by the name the terms have. */

import { RefusedError } from "../refusals.ts";
import { Cfpl } from "./cfpl.ts";
import { Cooccurrence } from "./cooccurrence.ts";
import { Kgflex } from "./kgflex.ts";
import type { Method } from "./method.ts";
import { PrivateCooccurrence } from "./private_cooccurrence.ts";

type Made = (settings: Record<string, unknown>) => Method;

const METHODS: Record<string, Made> = {
  ...named(Cfpl.of, "cfpl", "dp-cfpl", "sfpl", "sfpl+", "pfpl", "pfpl+"),
  ...named(Cooccurrence.of, "fed-item-knn", "fed-order"),
  // with epsilon its sums are others, and so are its settings
  ...named((settings) => ("eigenvectors" in settings ? PrivateCooccurrence : Cooccurrence).of(settings), "fed-ease"),
  ...named(PrivateCooccurrence.of, "fed-mostpop"),
  ...named(Kgflex.of, "kgflex", "ckgflex"),
};
const MADE = new WeakMap<object, Method>(); // by settings: what a method works out once is not worked out again

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
  const known = MADE.get(settings) ?? made(settings);
  MADE.set(settings, known);
  return known;
}

function named(made: Made, ...names: readonly string[]): Record<string, Made> {
  return Object.fromEntries(names.map((name) => [name, made]));
}
