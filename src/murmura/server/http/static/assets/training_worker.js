import { t as here } from "./training.js";
// src/device/training_worker.ts
self.onmessage = async ({ data }) => {
	let reply;
	try {
		reply = {
			id: data.id,
			result: await here[data.kind](data.request)
		};
	} catch (error) {
		reply = {
			id: data.id,
			error: error instanceof Error ? error.message : String(error)
		};
	}
	self.postMessage(reply);
};
