/** The operator's page is none of the visitor's: what it asks for, with the operator's own token, is not counted. */

const PATH = "/operator";

/** Whether a request opens that page, or is made by it; `client` is the address a tab was opened with. */
export function isOperators(request: Pick<Request, "mode" | "url">, client: string | undefined, here: string): boolean {
  if (request.mode === "navigate") return request.url === here + PATH;
  if (client === undefined) return false;
  const { origin, pathname } = new URL(client);
  return origin === here && pathname === PATH;
}
