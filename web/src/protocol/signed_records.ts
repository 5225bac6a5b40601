/** The fields of signed records: written by `python -m website.wire_types`, not by hand. */

import {
  boolean,
  list,
  mapping,
  matching,
  nullOr,
  number,
  oneOf,
  record,
  recordWithout,
  settings,
  string,
  whole,
} from "./fields.ts";

/** An aggregator as devices see it. */
export interface AggregatorAddress {
  url: string;
  key: string;
  sealing_key: string;
  proof_key: string;
}

export const aggregatorAddress = record({
  url: string,
  key: matching(/^[0-9a-f]{64}$/),
  sealing_key: matching(/^[0-9a-f]{64}$/),
  proof_key: matching(/^[0-9a-f]{64}$/),
});

/** Which items there are: `fixed`, those of one description for as long as the terms hold. */
export interface CatalogueRule {
  rule: "fixed";
  description: string;
  bytes: number;
  features_bytes: number;
}

export const catalogueRule = record({
  rule: oneOf("fixed"),
  description: matching(/^[0-9a-f]{64}$/),
  bytes: whole(0, 2 ** 32),
  features_bytes: whole(0, 2 ** 32),
});

/** Where the log ends for everybody: nobody has what came after, so every owner is asked to go on there. */
export interface LostLog {
  entries: number;
  root: string;
  serial: number;
}

export const lostLog = record({
  entries: whole(0, 2 ** 32),
  root: matching(/^[0-9a-f]{64}$/),
  serial: whole(0, 2 ** 32),
});

/** The noise each aggregator adds whole to its half of a sum, and what it bounds; all empty: none is added. */
export interface NoiseTerms {
  epsilon: number;
  delta: number;
  multipliers: Record<string, number>;
  answers: Record<string, number>;
  unit: string;
  against: string;
}

export const noiseTerms = record({
  epsilon: number((value) => value >= 0 && value < 2 ** 40),
  delta: number((value) => value >= 0 && value < 2 ** 40),
  multipliers: mapping(number((value) => value >= 0 && value < 2 ** 40)),
  answers: mapping(whole(1, 2 ** 32)),
  unit: string,
  against: string,
});

/** In one window a device answers a phase of the opening once, and no sum of it is released twice. */
export interface ReleaseWindows {
  start: number;
  seconds: number;
}

export const releaseWindows = record({
  start: number((value) => value >= 0 && value < 2 ** 40),
  seconds: number((value) => value >= 0 && value < 2 ** 40),
});

/** What does not change while a federation lasts. An invitation carries its hash, and a device pins it. */
export interface FederationTermsFields {
  protocol: number;
  federation: string;
  coordinator: string;
  seed_aggregator: AggregatorAddress | null;
  vector_aggregator: AggregatorAddress | null;
  admission: "invited" | "open";
  admitter: string;
  method: string;
  settings: Record<string, unknown>;
  schedule: Record<string, unknown>;
  catalogue: CatalogueRule;
  channel: Record<string, unknown>;
  windows: ReleaseWindows;
  noise: NoiseTerms;
  lost?: LostLog;
}

export const federationTermsFields = recordWithout("lost", {
  protocol: whole(3, 4),
  federation: matching(/^([0-9a-f]{2})*$/),
  coordinator: matching(/^[0-9a-f]{64}$/),
  seed_aggregator: nullOr(aggregatorAddress),
  vector_aggregator: nullOr(aggregatorAddress),
  admission: oneOf("invited", "open"),
  admitter: matching(/^([0-9a-f]{2})*$/),
  method: string,
  settings: settings,
  schedule: settings,
  catalogue: catalogueRule,
  channel: settings,
  windows: releaseWindows,
  noise: noiseTerms,
  lost: lostLog,
});

/** Something published under a hash: its length is known before it is fetched. */
export interface Download {
  hash: string;
  bytes: number;
  base: string;
}

export const download = record({
  hash: matching(/^[0-9a-f]{64}$/),
  bytes: whole(0, 2 ** 32),
  base: matching(/^([0-9a-f]{2})*$/),
});

/** What noise bounds, as the terms have it: said in every round, so that nobody has to look it up. */
export interface RoundPrivacy {
  noise: number;
  epsilon: number;
  delta: number;
  unit: string;
  against: string;
}

export const roundPrivacy = record({
  noise: number((value) => value >= 0 && value < 2 ** 40),
  epsilon: number((value) => value >= 0 && value < 2 ** 40),
  delta: number((value) => value >= 0 && value < 2 ** 40),
  unit: string,
  against: string,
});

/** One round; every share and ticket of it carries the manifest's hash. */
export interface ManifestFields {
  protocol: number;
  terms: string;
  federation: string;
  serial: number;
  round: number;
  window: number;
  nonce: string;
  previous: string;
  phase: string;
  part: number;
  part_seed: string;
  model: Download;
  changes: Download[];
  shapes: Record<string, number[]>;
  counts: Download | null;
  answers: boolean;
  called: number;
  largest: number;
  opened: number;
  deadline: number;
  hold: number;
  spread: number;
  privacy: RoundPrivacy | null;
}

export const manifestFields = record({
  protocol: whole(3, 4),
  terms: matching(/^[0-9a-f]{64}$/),
  federation: matching(/^([0-9a-f]{2})*$/),
  serial: whole(0, 2 ** 32),
  round: whole(0, 2 ** 32),
  window: whole(0, 2 ** 32),
  nonce: matching(/^([0-9a-f]{2})*$/),
  previous: matching(/^([0-9a-f]{2})*$/),
  phase: string,
  part: number((value) => value > 0 && value <= 1),
  part_seed: matching(/^([0-9a-f]{2})*$/),
  model: download,
  changes: list(download, 8),
  shapes: mapping(list(whole(0, 2 ** 48), 32)),
  counts: nullOr(download),
  answers: boolean,
  called: whole(0, 2 ** 32),
  largest: whole(0, 2 ** 32),
  opened: number((value) => value >= 0 && value < 2 ** 40),
  deadline: number((value) => value >= 0 && value < 2 ** 40),
  hold: number((value) => value >= 0 && value < 2 ** 40),
  spread: number((value) => value >= 0 && value < 2 ** 40),
  privacy: nullOr(roundPrivacy),
});
