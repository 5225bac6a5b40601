/** The invitation in the address of the page: what follows the # is sent to nobody, and is taken out of sight. */

import type { PinnedBy } from "../device/types.ts";

export interface Link {
  text: string;
  by: PinnedBy;
}

/** What to look at; null where the page has looked before and nothing new is said. */
export async function invitationHere(known: boolean): Promise<Link | null> {
  const fragment = location.hash.slice(1);
  if (fragment.startsWith("2.")) {
    history.replaceState(null, "", location.pathname);
    return { text: linkOf(fragment), by: "invitation" };
  }
  if (known) return null;
  const description = (await (await fetch("/federation")).json()) as { terms: string };
  const bytes = new Uint8Array((description.terms.match(/../g) ?? []).map((two) => parseInt(two, 16)));
  const text = btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replace(/=+$/, "");
  return { text: linkOf(`2.${text}`), by: "server" };
}

/** As `murmura invite create` prints it: HTTPS, or HTTP on this machine, and otherwise said. */
function linkOf(fragment: string): string {
  const scheme = location.protocol.slice(0, -1),
    name = location.hostname;
  const near = name === "localhost" || name === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(name);
  const said = scheme === (near ? "http" : "https") ? "" : `+${scheme}`;
  return `murmura${said}://${location.host}#${fragment}`;
}
