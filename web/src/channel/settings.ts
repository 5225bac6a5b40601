/** How updates travel, as the terms say it. */

import { malformed } from "../refusals.ts";

export interface ChannelSettings {
  channel: "secure-sum" | "readable";
  clip: number;
  coordinate: number | null;
  bits: number;
  ring: 24 | 32;
  block: "dense" | "half" | "core";
  core: number;
  minimum_cohort: number;
  download: "exact" | "float16" | "int8";
}

/** The settings in the terms; refuses those this version does not know. */
export function channelSettings(plain: Record<string, unknown>): ChannelSettings {
  const one = plain as unknown as ChannelSettings;
  const whole = (value: unknown, least: number, most: number) =>
    Number.isInteger(value) && (value as number) >= least && (value as number) <= most;
  const above = (value: unknown) => typeof value === "number" && value > 0 && Number.isFinite(value);
  const known =
    ["secure-sum", "readable"].includes(one.channel) &&
    ["dense", "half", "core"].includes(one.block) &&
    ["exact", "float16", "int8"].includes(one.download) &&
    (one.ring === 24 || one.ring === 32) &&
    whole(one.bits, 2, 24) &&
    whole(one.core, 1, 2 ** 32) &&
    whole(one.minimum_cohort, 1, 2 ** 32) &&
    above(one.clip) &&
    (one.coordinate === null || above(one.coordinate));
  if (!known) throw malformed("the channel of the terms must be one this page knows, but is not; take no part.");
  return one;
}
