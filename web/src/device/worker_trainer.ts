/** The trainer that lets a worker do the work. */

import type { Trainer } from "./training.ts";
import type { WorkerReply, Work } from "./training_worker.ts";
import { DeviceError } from "./types.ts";

type Waiting = { resolve: (result: never) => void; reject: (error: Error) => void };

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
  function ask<T>(work: Work): Promise<T> {
    const id = asked++;
    return new Promise<T>((resolve, reject) => {
      waiting.set(id, { resolve, reject });
      worker.postMessage({ ...work, id });
    });
  }
  return {
    train: (request) => ask({ kind: "train", request }),
    rank: (request) => ask({ kind: "rank", request }),
    commit: (request) => ask({ kind: "commit", request }),
    prove: (request) => ask({ kind: "prove", request }),
  };
}
