/** The trainer that lets a worker do the work. */

import type { Trainer, TrainingResult } from "./training.ts";
import type { WorkerReply, WorkerRequest } from "./training_worker.ts";
import { DeviceError, type Recommendation } from "./types.ts";

type Waiting = { resolve: (result: never) => void; reject: (error: Error) => void };
type Unnumbered = WorkerRequest extends infer One ? (One extends { id: number } ? Omit<One, "id"> : never) : never;

export function workerTrainer(worker: Worker): Trainer {
  const waiting = new Map<number, Waiting>();
  let asked = 0;
  const fail = (message: string) => {
    for (const { reject } of waiting.values()) reject(new DeviceError(message));
    waiting.clear();
  };
  worker.onerror = () => fail("the worker that trains must answer, but broke off; load the page anew.");
  worker.onmessage = ({ data }: MessageEvent<WorkerReply>) => {
    const one = waiting.get(data.id);
    waiting.delete(data.id);
    if (data.error === undefined) one?.resolve(data.result as never);
    else one?.reject(new DeviceError(data.error));
  };
  function ask<T>(request: Unnumbered): Promise<T> {
    const id = asked++;
    return new Promise<T>((resolve, reject) => {
      waiting.set(id, { resolve, reject });
      worker.postMessage({ ...request, id });
    });
  }
  return {
    train: (request) => ask<TrainingResult>({ kind: "train", request }),
    rank: (request) => ask<Recommendation[]>({ kind: "rank", request }),
  };
}
