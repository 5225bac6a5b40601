/** The worker: trains and ranks away from the page's thread. A file of its own, as the content policy asks. */

import { rank, type RankingRequest, train, type TrainingRequest } from "./training.ts";

export type WorkerRequest =
  { id: number; kind: "train"; request: TrainingRequest } | { id: number; kind: "rank"; request: RankingRequest };

export interface WorkerReply {
  id: number;
  result?: unknown;
  error?: string;
}

self.onmessage = ({ data }: MessageEvent<WorkerRequest>) => {
  let reply: WorkerReply;
  try {
    reply = { id: data.id, result: data.kind === "train" ? train(data.request) : rank(data.request) };
  } catch (error) {
    reply = { id: data.id, error: error instanceof Error ? error.message : String(error) };
  }
  self.postMessage(reply);
};
