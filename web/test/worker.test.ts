import { afterEach, expect, test, vi } from "vitest";
import { channelSettings } from "../src/channel/settings.ts";
import { here, type TrainingRequest } from "../src/device/training.ts";
import { workerTrainer } from "../src/device/worker_trainer.ts";
import { circuitOf, provenVector } from "../src/proofs/claims.ts";
import { checkBytes, payloadBytes } from "../src/proofs/proven_upload.ts";
import { golden, history, info } from "./training_world.ts";

const step = golden.steps[0];
const request: TrainingRequest = {
  of: { method: "cfpl", settings: step.settings },
  info,
  phase: "prior",
  round: golden.round,
  model: {},
  state: null,
  history,
  secret: golden.secret,
  channel: channelSettings(golden.channel),
  largest: golden.largest,
  multiplier: 0,
};
afterEach(() => vi.unstubAllGlobals());

/** The worker's own file on the other side of messages that are cloned, as between two threads. */
async function worker(): Promise<Worker> {
  const inside = { onmessage: (_: { data: unknown }) => undefined, postMessage: (_: unknown) => undefined };
  const outside = {
    onmessage: (_: { data: unknown }) => undefined,
    onerror: () => undefined,
    postMessage: (data: unknown) => inside.onmessage({ data: structuredClone(data) }),
  };
  inside.postMessage = (data) => void queueMicrotask(() => outside.onmessage({ data: structuredClone(data) }));
  vi.stubGlobal("self", inside);
  vi.resetModules();
  await import("../src/device/training_worker.ts");
  return outside as unknown as Worker;
}

test("a worker trains as this thread does", async () => {
  const trainer = workerTrainer(await worker());
  const [made, expected] = await Promise.all([trainer.train(request), here.train(request)]);
  expect(made).toEqual(expected);
  expect([...made.vector]).toEqual(step.vector);
});

test("a worker proves as this thread does", async () => {
  const trainer = workerTrainer(await worker());
  const claim = { kind: "counts", items: [0, 2, 5], people: 1, cap: 2 } as const;
  const vector = provenVector(claim, [2, 5]);
  const upload = { claim, vector, secret: new Uint8Array(32).fill(3) };
  expect(await trainer.commit(upload)).toEqual(await here.commit(upload));
  const asked = {
    ...upload,
    challenge: new Uint8Array(32).fill(4),
    check: new Uint8Array(checkBytes(circuitOf(claim), false)),
  };
  const made = await trainer.prove(asked);
  expect([made.length, made]).toEqual([payloadBytes(circuitOf(claim), false), await here.prove(asked)]);
  vector[0] = 2n;
  await expect(trainer.prove(asked)).rejects.toThrow(/must pass its own check/);
});

test("what a worker refuses is said here, and each answer goes to its asker", async () => {
  const trainer = workerTrainer(await worker());
  const wrong = { ...request, of: { method: "unheard of", settings: {} } };
  const [good, bad] = await Promise.allSettled([trainer.train(request), trainer.train(wrong)]);
  expect([good.status, bad.status]).toEqual(["fulfilled", "rejected"]);
  expect(String((bad as PromiseRejectedResult).reason)).toMatch(/unknown to this page/);
});

test("a worker that breaks off leaves nobody waiting", async () => {
  const broken = { postMessage: () => undefined } as unknown as Worker;
  const asked = workerTrainer(broken).train(request);
  broken.onerror!(new Event("error") as ErrorEvent);
  await expect(asked).rejects.toThrow(/must answer, but broke off/);
});
