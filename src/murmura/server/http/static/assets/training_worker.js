import { n as rank, r as train } from "./training.js";
// src/device/training_worker.ts
self.onmessage = ({ data }) => {
	let reply;
	try {
		reply = {
			id: data.id,
			result: data.kind === "train" ? train(data.request) : rank(data.request)
		};
	} catch (error) {
		reply = {
			id: data.id,
			error: error instanceof Error ? error.message : String(error)
		};
	}
	self.postMessage(reply);
};
