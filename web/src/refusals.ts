/** Why a machine of the federation, or this device, says no: a code for programs, one sentence for people. */

import { DeviceError } from "./device/types.ts";

const CODES = new Set([
  "malformed",
  "unauthorised",
  "forged",
  "not-called",
  "unknown",
  "method",
  "duplicate",
  "replay",
  "invalid",
  "left-out",
  "released",
  "too-few",
  "no-twin",
  "late",
  "finished",
  "lost",
  "oversize",
  "version",
  "rate",
  "paused",
  "full",
]);
const LONGEST = 1000; // characters of a sentence that another machine says

export class RefusedError extends DeviceError {
  override name = "RefusedError";
  readonly code: string;

  constructor(code: string, message: string) {
    super(printable(message));
    this.code = code;
  }

  /** The refusal a reply carries; anything unreadable is malformed. */
  static read(status: number, body: Uint8Array): RefusedError {
    try {
      const answer: unknown = JSON.parse(new TextDecoder().decode(body));
      const { error, message } = answer as Record<string, unknown>;
      if (typeof error === "string" && typeof message === "string") {
        return new RefusedError(CODES.has(error) ? error : "malformed", message.slice(0, LONGEST));
      }
    } catch {
      // said below
    }
    return new RefusedError("malformed", `the other side answered ${status} without saying why.`);
  }
}

/** A machine of the federation does not answer. */
export class UnreachableError extends DeviceError {
  override name = "UnreachableError";
}

/** Nobody said whether a message was taken: perhaps it was counted. */
export class NoReceiptError extends RefusedError {
  override name = "NoReceiptError";
}

export function malformed(message: string): RefusedError {
  return new RefusedError("malformed", message);
}

export function forged(message: string): RefusedError {
  return new RefusedError("forged", message);
}

/** A text of another machine as it may be shown: nothing in it moves a cursor or turns the line around. */
function printable(said: string): string {
  return said.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, (sign) => (/\s/.test(sign) ? " " : "\uFFFD"));
}
