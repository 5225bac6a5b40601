/** What would leave at some pi: computed by the very functions that send, and sent nowhere. */

import { SEED_BYTES } from "../channel/shares.ts";
import type { Update } from "../message/declaration.ts";
import { methodOf } from "../methods/registry.ts";
import type { Manifest } from "../protocol/manifest.ts";
import { TICKET_REQUEST_BYTES } from "../protocol/report.ts";
import type { FederationTerms } from "../protocol/terms.ts";
import type { Downloads } from "./downloads.ts";
import { heldHistory } from "./history.ts";
import type { DeviceMemory, Identity } from "./memory.ts";
import type { Surroundings } from "./rounds.ts";
import type { DecodedUpdate, Like, Permission, Preview, PreviewedMessage } from "./types.ts";
import { preparedUpload } from "./upload.ts";

export interface PreviewOf {
  identity: Identity;
  terms: FederationTerms;
  downloads: Downloads;
  manifest: Manifest | null; // the last one seen
  memory: DeviceMemory;
  likes: readonly Like[];
  permission: Permission; // with the pi that is tried out
}

export async function preview(of: PreviewOf, { trainer, entropy }: Surroundings): Promise<Preview> {
  const { identity, terms, memory, permission, manifest } = of;
  const { fields } = terms;
  const found = await of.downloads.offline();
  const described = found?.info ?? (await of.downloads.description()).info;
  const info = manifest?.counts && !described.counts ? await of.downloads.info(manifest) : described;
  const phases = methodOf(fields).phases(info);
  // the exchange of the last round seen, or else the first that needs no more than what is here
  const phase = phases.find(({ name }) => name === manifest?.phase) ?? (found ? phases.at(-1)! : phases[0]!);
  const { history } = heldHistory(of.likes, info, memory.joined, permission, identity.secret);
  const made = await trainer.train({
    of: { method: fields.method, settings: fields.settings },
    info,
    phase: phase.name,
    model: found?.model ?? {},
    round: (manifest?.round ?? found?.kept.round ?? 0) + 1,
    state: memory.state,
    history,
    secret: identity.secret,
    channel: terms.channel,
    largest: manifest?.largest ?? info.clients,
    multiplier: fields.noise.multipliers[phase.name] ?? 0,
  });
  const sent = await preparedUpload(terms, identity.url, phase, made, entropy(SEED_BYTES), trainer);
  const messages: PreviewedMessage[] = [
    {
      to: `${identity.url}/tickets`,
      purpose: "ticket",
      bytes: TICKET_REQUEST_BYTES,
      content: new Uint8Array(TICKET_REQUEST_BYTES),
    },
    ...sent.messages.map(({ url, purpose, length, payload }) => ({
      to: url,
      purpose,
      bytes: length,
      content: payload,
    })),
  ];
  const items = Array.from(history.item);
  const open = (row: number) => history.consent[row]! > 0;
  return {
    pi: permission.pi,
    shared: items.filter((_, row) => open(row)),
    kept: items.filter((_, row) => !open(row)),
    phase: phase.name,
    rows: made.rows,
    bytes: messages.reduce((sum, one) => sum + one.bytes, 0),
    messages,
    update: decoded(made.update, phase.name),
    vector: made.vector,
  };
}

/** What is proved has no table: it is a 1 for each of her items. */
function decoded({ tables, scalars, own }: Update, phase: string): DecodedUpdate {
  if (own) {
    const bits = { name: phase, width: 1, index: own, values: new Float64Array(own.length).fill(1) };
    return { tables: [bits], scalars };
  }
  const shown = Object.entries(tables).map(([name, { index, values }]) => ({
    name,
    width: index.length ? values.length / index.length : 0,
    index,
    values: Float64Array.from(values),
  }));
  return { tables: shown, scalars };
}
