/**
 * What the screens may ask of the device, and what it tells them.
 *
 * `openDevice` (device/open.ts) gives a `BrowserDevice`. It has three stages:
 *
 *     empty     nothing is known yet: `look` reads an invitation and fetches what is public
 *     visitor   terms, items and the public model are here; she likes, gets lists, and nothing about her has left
 *     member    she said "use this": the device has a place and answers rounds within what she allows
 *
 * Numbers of items are places in `catalogue.labels`, which are the federation's own ids. Titles, years and
 * pictures of words are the page's: a file of its own, by label. Every method that can fail throws a
 * `DeviceError`, whose message is one sentence for people; nothing is half done when it does.
 */

export type Stage = "empty" | "visitor" | "member";
export type Label = string | number;
/** An invitation, which its sender vouches for; or the server itself, which may show anybody other terms. */
export type PinnedBy = "invitation" | "server";

/** What is public about a federation, checked: signed by all of its machines, and what the invitation pins. */
export interface FederationFacts {
  url: string; // of the coordinator
  terms: string; // hash, 64 hexadecimal digits
  method: string; // "cfpl", "fed-ease", …
  minimum: number; // no sum of fewer devices is released
  readable: boolean; // whether the server reads each update
  exact: boolean; // whether sums that everybody can read counts of items from have no noise
  exactAllowed: boolean; // whether her device was joined with that
  clients: number; // places
  people: number; // on one device at most: it may count once for each
  epsilon: number | null; // what noise bounds all of a training to; null: nothing does
  delta: number | null;
  unit: string; // what epsilon is about, "" without noise
  against: string; // whom it holds against
  machines: Machine[]; // coordinator and both aggregators: the only ones anything is sent to
  pinnedBy: PinnedBy; // who said which federation this is
  invited: boolean; // whether an invitation was opened, and lets a device in
}

export interface Machine {
  role: "coordinator" | "seed aggregator" | "vector aggregator";
  url: string;
  key: string; // Ed25519, hexadecimal
}

export interface Catalogue {
  labels: readonly Label[]; // by item number
  listed: readonly number[]; // item numbers on offer, ascending
}

export interface Like {
  item: number;
  time: number | null; // seconds since 1970, where known; never leaves
  value: number; // 1 where it is a plain like
}

/** What the owner allows now; read again before every byte that leaves. */
export interface Permission {
  paused: boolean; // nothing leaves, whatever else is allowed
  train: boolean;
  pi: number; // at most this share of the likes is ever contributed; it limits, it does not protect
  statistics: boolean; // sums about people, such as how many like each item
  never: readonly number[]; // items that are never shared
  epsilon: number | null; // noise must bound all uploads together to this; null: she does not ask
}

/** What would leave at some pi, computed here and sent nowhere. */
export interface Preview {
  pi: number;
  shared: number[]; // item numbers that would shape updates
  kept: number[]; // the other likes
  phase: string; // of the exchange it is computed for
  rows: number; // of the message, the same for everyone
  bytes: number; // of one round: both sealed shares and the request for a ticket
  messages: PreviewedMessage[];
  update: DecodedUpdate | null; // what the shares add up to, before clip and rounding; null: no model yet
  vector: Uint32Array | BigUint64Array; // what the two shares add up to
}

export interface PreviewedMessage {
  to: string; // address
  purpose: "ticket" | "seed share" | "vector share" | "letter";
  bytes: number; // exactly so many will leave
  content: Uint8Array; // before it is sealed, with another seed than is really sent; empty where it needs an answer
}

export interface DecodedUpdate {
  tables: { name: string; width: number; index: Int32Array; values: Float64Array }[];
  scalars: Record<string, number>;
}

/** One request, written down before its first byte leaves. */
export interface TrafficEntry {
  id: number;
  time: string; // UTC, ISO 8601
  method: "GET" | "POST" | "DELETE";
  url: string;
  purpose: string; // "terms", "model", "ticket", "seed share", "vector share", "join", …
  round: number | null;
  bytes: number; // of the body that leaves
  hash: string; // SHA-256 of that body, "" for none
  times: number; // requests without a body are written down once by address, with how often
  received: number; // bytes of the answers
  state: "leaving" | "answered" | "refused" | "no answer";
}

/** One upload as the hash-chained journal has it, with what it showed. */
export interface LedgerEntry {
  time: string;
  round: number;
  phase: string;
  manifest: string;
  bytes: number; // of both shares
  rows: number;
  disclosed: number; // the fraction of the likes that has ever been part of an upload
  epsilon: number | null;
  items: number[]; // the likes this upload shows as such: those whose rows or counters it has
  hash: string; // of this line, which binds all before it
  countersigned: boolean; // both aggregators signed for it
}

export interface Ledger {
  entries: LedgerEntry[];
  traffic: TrafficEntry[];
  bytesUp: number; // of all bodies that left, uploads and all others
  bytesDown: number;
  head: string; // of the journal
}

export interface Recommendation {
  item: number;
  score: number;
  reasons: Reason[]; // empty where nothing true can be said
}

/**
 * "similar": an own like close to it, which is a fact about the model and no cause. "term": a term of the score,
 * which is the sum of all its terms; "because" may be said only where `because` is true.
 */
export interface Reason {
  kind: "similar" | "term";
  item: number | null; // of "similar"
  label: string; // of "term": the feature in words, such as "director: Mel Brooks"
  weight: number; // of "term": what it adds to the score; of "similar": how close it is
  gain: number; // of "term": how much the feature tells about what she chooses; 0 of "similar"
  because: boolean; // the item would not be in the list without it
  local: boolean; // whether it uses nothing that was disclosed
}

/** For whom to rank, and what is not to count: reasons by their label, likes by their item. Stays here. */
export interface RankingOptions {
  as?: readonly Like[]; // of somebody else, in place of her own: ranked with once, neither kept nor trained on
  withoutTerms?: readonly string[];
  withoutLikes?: readonly number[];
}

export interface Ranking {
  list: Recommendation[];
  personal: boolean; // false: the popular list, the same for everyone
  milliseconds: number;
  model: string; // hash of the public model
  round: number;
}

export type VisitKind = "idle" | "finished" | "not-called" | "declined" | "sent" | "refused" | "gone-back";

export interface VisitOutcome {
  kind: VisitKind;
  round: number;
  phase: string;
  why: string;
  bytes: number;
  disclosed: number;
  epsilon: number | null;
}

/** Of a visit in which nothing was sent. */
export function outcome(kind: VisitKind, why = ""): VisitOutcome {
  return { kind, round: -1, phase: "", why, bytes: 0, disclosed: 0, epsilon: null };
}

export interface DeviceStatus {
  stage: Stage;
  federation: FederationFacts | null;
  likes: number;
  permission: Permission;
  model: { hash: string; round: number; bytes: number } | null;
  last: VisitOutcome | null;
  offered: string[]; // changes of terms that wait for her; [] : none
}

export interface JoinOptions {
  minimum?: number; // takes part in no round that may release a sum of fewer devices; 100 unless said
  readable?: boolean; // allows rounds in which the server reads each update; false unless said
  exact?: boolean; // allows sums without noise that everybody can read; false unless said
}

export interface BrowserDevice {
  status(): DeviceStatus;
  /** Called after every change of the status; the answer stops it. */
  watch(listener: (status: DeviceStatus) => void): () => void;
  /** Read what is kept anew, as another tab has changed it. */
  reread(): Promise<void>;

  /** Check an invitation and fetch terms, items and the newest model: public requests alone. */
  look(link: string, by?: PinnedBy): Promise<FederationFacts>;
  catalogue(): Catalogue;

  likes(): readonly Like[];
  /** Replace all likes; unknown items are refused. */
  setLikes(likes: readonly Like[]): Promise<void>;
  /** Like these too, or no longer; whatever another tab changed stays. */
  like(likes: readonly Like[], on: boolean): Promise<void>;
  /** Labels of a file of her own to item numbers; null where the federation does not have it. */
  find(labels: readonly Label[]): (number | null)[];

  permission(): Permission;
  /** Change what is allowed. Takes effect before the next byte; sends nothing. */
  allow(change: Partial<Permission>): Promise<Permission>;
  /** Never share an item, or let it be shared again; the rest of what is allowed stays. */
  never(item: number, on: boolean): Promise<Permission>;
  preview(pi: number): Promise<Preview>;

  /** Take a place. Needs an invitation; asks the coordinator, and is in the ledger. */
  join(options?: JoinOptions): Promise<void>;
  /** Look once whether a round is open, and answer it within what is allowed; nothing leaves after `stop`. */
  visit(stop?: AbortSignal): Promise<VisitOutcome>;
  /** Visit until the federation is finished or `signal` says stop, which also ends the visit that runs. */
  stay(signal: AbortSignal, tell?: (outcome: VisitOutcome) => void): Promise<void>;
  /** Agree to changed terms, of which `status().offered` said what changes. */
  acceptTerms(): Promise<void>;

  /** The k best items she does not have; makes no request. */
  recommend(k: number, options?: RankingOptions): Promise<Ranking>;
  popular(k: number): Promise<Ranking>;

  /** Also where nothing is known of the federation yet; then nothing is countersigned. */
  ledger(): Promise<Ledger>;
  ledgerCsv(): Promise<string>;
  /** The journal as files by name, in a folder of which `murmura ledger verify` finds no fault. */
  journalFiles(): Promise<Record<string, string>>;
  /** Everything the device holds, as a JSON text that `restore` reads on another one. */
  exportAll(): Promise<string>;
  restore(text: string): Promise<void>;
  /**
   * Tell the coordinator (if she has a place), then delete everything; what went wrong with the first, or null.
   * This device is of no use afterwards: open another one.
   */
  leave(): Promise<string | null>;
}

/** What cannot be done, in one sentence for people: what it must be, what it is, what to do. */
export class DeviceError extends Error {
  override name = "DeviceError";
}
