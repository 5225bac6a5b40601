/** The page: its service worker first, so that every request is counted; then the device; then the screens. */

import { render } from "preact";
import { App } from "./app.tsx";
import { begin, guarded, online, SCREENS, type Screen, screen } from "./state.ts";
import { texts } from "./texts.ts";

const WORKER = "/assets/training_worker.js",
  METER = "/sw.js";
const PATIENCE = 4000; // milliseconds for the meter to begin; without it the page says that nobody counts twice

interface ScriptUrls {
  createScriptURL(url: string): string;
}
declare global {
  interface Window {
    trustedTypes?: { createPolicy(name: string, rules: ScriptUrls): ScriptUrls };
  }
}

/** The only two scripts the page may start. */
const rules: ScriptUrls = {
  createScriptURL(url) {
    if (url !== WORKER && url !== METER) throw new TypeError(`${url} is no script of this page`);
    return url;
  },
};
const scripts = window.trustedTypes?.createPolicy("murmura", rules) ?? rules;

async function meterBegins(): Promise<void> {
  if (!navigator.serviceWorker) return;
  try {
    await navigator.serviceWorker.register(scripts.createScriptURL(METER), { updateViaCache: "none" });
  } catch {
    return; // private browsing: the page works, and says that nobody counts twice
  }
  if (navigator.serviceWorker.controller) return;
  await new Promise<void>((resolve) => {
    navigator.serviceWorker.addEventListener("controllerchange", () => resolve(), { once: true });
    setTimeout(resolve, PATIENCE);
  });
}

function follow(): void {
  if (location.hash.startsWith("#2.")) location.reload(); // another invitation, opened in this tab
  const wanted = location.hash.slice(2) as Screen;
  if (!location.hash.startsWith("#/") || !SCREENS.includes(wanted)) return;
  screen.value = wanted;
  scrollTo(0, 0);
}

async function main(): Promise<void> {
  const root = document.getElementById("app")!;
  online.value = navigator.onLine;
  for (const one of ["online", "offline"] as const)
    window.addEventListener(one, () => void (online.value = one === "online"));
  window.addEventListener("hashchange", follow);
  render(<App />, root);
  await meterBegins();
  await guarded(async () => {
    const worker = new Worker(scripts.createScriptURL(WORKER), { type: "module" });
    await begin(worker);
    follow();
  });
  root.dataset["ready"] = "true";
}

void main().catch(() => {
  document.getElementById("app")!.textContent = texts.errors.worker;
});
