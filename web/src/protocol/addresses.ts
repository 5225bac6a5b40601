/** Addresses of machines: which host they name, and whether that is this one. */

import { forged, malformed } from "../refusals.ts";

const PLAIN = /^https?:\/\/([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:\d{1,5})?(\/[A-Za-z0-9._~%/-]*)?$/;

/** Refuse an address that could say more in a list of addresses than where a machine is. */
export function checkPlain(url: string): void {
  if (!PLAIN.test(url)) {
    throw malformed("the address of an aggregator must be scheme://host:port/path in plain characters, but is not.");
  }
}

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

/** Whether whoever asks this host asks its own machine; `hostOf` writes every address in its usual way. */
function reachesItself(host: string): boolean {
  const unnamed = ["0.0.0.0", "::", "::ffff:0:0"].includes(host);
  return unnamed || isLoopback(host) || host.endsWith(".localhost") || /^::ffff:7f[0-9a-f]{2}:/.test(host);
}

/** Refuse what a server elsewhere names on this machine: who posts there talks to services of its own. */
export function checkElsewhere(url: string, named: readonly string[]): void {
  const near = reachesItself(hostOf(url)) ? undefined : named.find((one) => reachesItself(hostOf(one)));
  if (near !== undefined) {
    throw forged(`the aggregators of a federation elsewhere must be elsewhere, but one is at ${near}; take no part.`);
  }
}

/** Refuse plain HTTP to another machine: everyone on the way reads it. */
export function checkAddress(url: string): void {
  const near = isLoopback(hostOf(url));
  if (!url.startsWith("https://") && !(near && url.startsWith("http://"))) {
    throw malformed(`${url.slice(0, 100)} must be an https address, as everyone on the way reads plain HTTP.`);
  }
}
