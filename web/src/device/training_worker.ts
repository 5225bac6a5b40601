/** The worker: trains, proves and ranks away from the page's thread. A file of its own, as the content policy asks. */

import { here, type Trainer } from "./training.ts";

type Kind = keyof Trainer;
/** The name of a piece of work, and what it needs. */
export type Work = { [kind in Kind]: { kind: kind; request: Parameters<Trainer[kind]>[0] } }[Kind];
export type WorkerRequest = Work & { id: number };

export interface WorkerReply {
  id: number;
  result?: unknown;
  error?: string;
}

self.onmessage = async ({ data }: MessageEvent<WorkerRequest>) => {
  let reply: WorkerReply;
  try {
    reply = { id: data.id, result: await here[data.kind](data.request as never) };
  } catch (error) {
    reply = { id: data.id, error: error instanceof Error ? error.message : String(error) };
  }
  self.postMessage(reply);
};
