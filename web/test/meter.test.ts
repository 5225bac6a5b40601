import { describe, expect, it } from "vitest";
import type { TrafficEntry } from "../src/device/types.ts";
import type { CountedRequest } from "../src/sw/meter_store.ts";
import { isOperators } from "../src/sw/operators.ts";
import { compared } from "../src/ui/meter.ts";

const HERE = "https://films.example";

function counted(method: string, path: string, bytes: number, hash = bytes ? "aa" : ""): CountedRequest {
  return {
    time: "2026-01-01T00:00:00Z",
    method,
    url: HERE + path,
    bytes,
    address: (HERE + path).length,
    hash,
    times: 1,
  };
}

function declared(
  method: "GET" | "POST" | "DELETE",
  path: string,
  bytes: number,
  hash = bytes ? "aa" : "",
): TrafficEntry {
  return {
    id: 1,
    time: "2026-01-01T00:00:00Z",
    method,
    url: HERE + path,
    purpose: "ticket",
    round: 1,
    bytes,
    hash,
    times: 1,
    received: 0,
    state: "answered",
  };
}

const undeclared = (requests: CountedRequest[], traffic: TrafficEntry[] = []) =>
  compared(requests, traffic, HERE).undeclared.map(({ url }) => url.slice(HERE.length));

describe("the meter beside the page", () => {
  it("agrees where every body was written down", () => {
    const found = compared([counted("POST", "/tickets", 64)], [declared("POST", "/tickets", 64)], HERE);
    expect(found).toMatchObject({ available: true, bytes: 64, undeclared: [] });
  });
  it("marks a body that was not written down, or not that one, or not twice", () => {
    expect(undeclared([counted("POST", "/tickets", 5)])).toEqual(["/tickets"]);
    expect(undeclared([counted("POST", "/tickets", 64, "bb")], [declared("POST", "/tickets", 64)])).toEqual([
      "/tickets",
    ]);
    const twice = [counted("POST", "/tickets", 64), counted("POST", "/tickets", 64)];
    expect(undeclared(twice, [declared("POST", "/tickets", 64)])).toEqual(["/tickets"]);
  });
  it("marks addresses that say more than those of the page's own files", () => {
    const files = ["/", "/titles.json", "/federation", "/assets/app.js"].map((path) => counted("GET", path, 0));
    expect(undeclared(files)).toEqual([]);
    const more = ["/?likes=1", "/titles.json?likes=1", "/assets/app.js?likes=1", "/assets/3-17-42", "/round"];
    expect(undeclared(more.map((path) => counted("GET", path, 0)))).toEqual(more);
  });
  it("takes a request without a body for declared as often as it is made, by its method", () => {
    expect(undeclared([counted("GET", "/round", 0)], [declared("GET", "/round", 0)])).toEqual([]);
    expect(undeclared([counted("DELETE", "/round", 0)], [declared("GET", "/round", 0)])).toEqual(["/round"]);
  });
  it("does not take another host's file for the page's own", () => {
    const other = { ...counted("GET", "/", 0), url: "https://other.example/assets/app.js" };
    expect(compared([other], [], HERE).undeclared).toEqual([other]);
  });
});

describe("the operator's page", () => {
  const asked = (mode: RequestMode, url: string) => ({ mode, url: HERE + url });
  it("is opened and asks without being counted", () => {
    expect(isOperators(asked("navigate", "/operator"), undefined, HERE)).toBe(true);
    expect(isOperators(asked("cors", "/status"), `${HERE}/operator`, HERE)).toBe(true);
  });
  it("hides nothing that a visitor's tab asks for", () => {
    expect(isOperators(asked("navigate", "/operator?likes=1"), undefined, HERE)).toBe(false);
    expect(isOperators(asked("navigate", "/"), `${HERE}/operator`, HERE)).toBe(false);
    expect(isOperators(asked("cors", "/operator"), `${HERE}/`, HERE)).toBe(false);
    expect(isOperators(asked("cors", "/status"), undefined, HERE)).toBe(false);
    expect(isOperators(asked("cors", "/status"), "https://other.example/operator", HERE)).toBe(false);
  });
});
