/** Addresses of machines: which host they name, and whether that is this one. */

import { malformed } from "../refusals.ts";

export function hostOf(url: string): string {
  try {
    return new URL(url).hostname
      .toLowerCase()
      .replace(/^\[|\]$/g, "")
      .replace(/\.$/, "");
  } catch {
    throw malformed("an address must be a URL, but is not.");
  }
}

/** 127.0.0.0/8, ::1 or localhost. */
export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127(\.\d{1,3}){3}$/.test(host);
}

/** Refuse plain HTTP to another machine: everyone on the way reads it. */
export function checkAddress(url: string): void {
  const near = isLoopback(hostOf(url));
  if (!url.startsWith("https://") && !(near && url.startsWith("http://"))) {
    throw malformed(`${url.slice(0, 100)} must be an https address, as everyone on the way reads plain HTTP.`);
  }
}
