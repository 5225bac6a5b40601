/**
 * Randomness of training: Philox4x32-10, keyed by a secret, a round and a purpose (docs/randomness.md).
 *
 * Salmon, Moraes, Dror and Shaw: Parallel random numbers: as easy as 1, 2, 3 (SC 2011). Never for shares or
 * seeds: those are the system's.
 */

export const Purpose = {
  SECRET: 0,
  INIT: 1,
  TRIPLES: 3,
  COINS: 4,
  CONSENT: 5,
  CHOICE: 6,
  WARM: 7,
  REFRESH: 8,
  FOLD_IN: 9,
  ROUNDING: 10,
  BLOCK: 11,
  GAIN: 12,
  WORK: 14,
  PART: 16,
  SKETCH: 17,
} as const;

export type Secret = readonly [number, number]; // two 32-bit words
export const TWO32 = 2 ** 32;

/** The high word of a product of two 32-bit words. */
function high(a: number, b: number): number {
  const low = a & 0xffff;
  const up = a >>> 16;
  const first = low * b; // below 2**48
  const second = up * b + Math.floor(first / 65536); // below 2**49
  return Math.floor(second / 65536) >>> 0;
}

/** Fill four words of `out` from place `at` with the block at this counter. */
export function block(
  c0: number,
  c1: number,
  c2: number,
  c3: number,
  secret: Secret,
  out: Uint32Array,
  at: number,
): void {
  let [k0, k1] = secret;
  for (let round = 0; round < 10; round++) {
    const h0 = high(0xd2511f53, c0);
    const l0 = Math.imul(0xd2511f53, c0) >>> 0;
    const h1 = high(0xcd9e8d57, c2);
    const l1 = Math.imul(0xcd9e8d57, c2) >>> 0;
    c0 = (h1 ^ c1 ^ k0) >>> 0;
    c1 = l1;
    c2 = (h0 ^ c3 ^ k1) >>> 0;
    c3 = l0;
    k0 = (k0 + 0x9e3779b9) >>> 0;
    k1 = (k1 + 0xbb67ae85) >>> 0;
  }
  out[at] = c0;
  out[at + 1] = c1;
  out[at + 2] = c2;
  out[at + 3] = c3;
}

/** The words of one (secret, round, purpose), read one after the other. */
export class Stream {
  private readonly ahead = new Uint32Array(4);
  private next = 4; // of the words ahead
  private blocks = 0;

  constructor(
    private readonly secret: Secret,
    private readonly round: number,
    private readonly purpose: number,
  ) {}

  word(): number {
    if (this.next === 4) {
      block(this.blocks++, this.round, this.purpose, 0, this.secret, this.ahead, 0);
      this.next = 0;
    }
    return this.ahead[this.next++]!;
  }

  /** The words at these places of the stream, wherever it has been read to. */
  wordsAt(places: readonly number[]): Uint32Array {
    const found = new Uint32Array(4);
    const words = new Uint32Array(places.length);
    let known = -1;
    places.forEach((place, n) => {
      const here = Math.floor(place / 4);
      if (here !== known) block((known = here), this.round, this.purpose, 0, this.secret, found, 0);
      words[n] = found[place % 4]!;
    });
    return words;
  }

  /** A whole number below n, 1 <= n < 2**32 (Lemire 2019): unfair words are passed over. */
  below(n: number): number {
    const unfair = TWO32 % n;
    for (;;) {
      const word = this.word();
      if (Math.imul(word, n) >>> 0 >= unfair) return high(word, n);
    }
  }

  /** Heads with this probability. */
  coin(share: number): boolean {
    return this.word() < Math.floor(share * TWO32);
  }

  normals(n: number): Float64Array {
    return Float64Array.from({ length: n }, () => standardNormal(this.word()));
  }

  /** m different numbers below n, ascending (Floyd 1987). */
  choose(n: number, m: number): number[] {
    const chosen = new Set<number>();
    for (let last = n - m; last < n; last++) {
      const drawn = this.below(last + 1);
      chosen.add(chosen.has(drawn) ? last : drawn);
    }
    return [...chosen].sort((a, b) => a - b);
  }
}

/** The randomness of one machine in one round; every purpose has its own stream, from the beginning. */
export class Rng {
  constructor(
    readonly secret: Secret,
    readonly round = 0,
  ) {}

  stream(purpose: number): Stream {
    return new Stream(this.secret, this.round, purpose);
  }
}

/** The secret of a client of a simulation; the seed is a whole number below 2**64. */
export function clientSecret(seed: bigint, client: number): Secret {
  return seeded(seed, client, 0);
}

export function serverSecret(seed: bigint): Secret {
  return seeded(seed, 0, 1);
}

export function guestSecret(seed: bigint): Secret {
  return seeded(seed, 0, 2);
}

function seeded(seed: bigint, c0: number, c1: number): Secret {
  const words = new Uint32Array(4);
  const key: Secret = [Number(seed & 0xffffffffn), Number(seed >> 32n)];
  block(c0, c1, Purpose.SECRET, 0, key, words, 0);
  return [words[0]!, words[1]!];
}

/** Whether a place is in the public part of the clients that a seed of 16 bytes draws. */
export function inPublicPart(seed: Uint8Array, place: number, part: number): boolean {
  const words = new Uint32Array(4);
  const seen = new DataView(seed.buffer, seed.byteOffset, 16);
  const [k0, k1, low, up] = [0, 4, 8, 12].map((at) => seen.getUint32(at, true)) as [number, number, number, number];
  block(Math.floor(place / 4), low, Purpose.PART, up, [k0, k1], words, 0);
  return words[place % 4]! < Math.floor(part * TWO32);
}

// Wichura 1988, algorithm AS 241, PPND7: about seven digits, by +, -, *, / and a square root alone
const CENTRE = [
  [3.3871327179, 50.434271938, 159.29113202, 59.10937472],
  [1, 17.895169469, 78.757757664, 67.1875636],
] as const;
const TAIL = [
  [1.4234372777, 2.75681539, 1.3067284816, 0.17023821103],
  [1, 0.7370016425, 0.12021132975, 0],
] as const;

/** The normal quantile of (word + 1/2) / 2**32, in operations that every language rounds alike. */
export function standardNormal(word: number): number {
  const u = (word + 0.5) * 2 ** -32;
  const q = u - 0.5;
  if (Math.abs(q) <= 0.425) {
    const r = 0.180625 - q * q;
    return q * (cubic(CENTRE[0], r) / cubic(CENTRE[1], r));
  }
  const t = Math.sqrt(-log(Math.min(u, 1 - u))) - 1.6;
  const tail = cubic(TAIL[0], t) / cubic(TAIL[1], t);
  return q < 0 ? -tail : tail;
}

function cubic(c: readonly [number, number, number, number], x: number): number {
  return ((c[3] * x + c[2]) * x + c[1]) * x + c[0];
}

/** The natural logarithm by its odd series: libraries disagree in the last bit, this does not. */
function log(x: number): number {
  let e = 0;
  let m = x;
  for (; m < 0.5; m *= 2) e--;
  if (m < 0.7071067811865476) {
    m *= 2;
    e--;
  }
  const s = (m - 1) / (m + 1);
  const z = s * s;
  let series = 1 / 13;
  for (const k of [11, 9, 7, 5, 3, 1]) series = series * z + 1 / k;
  return e * 0.6931471805599453 + 2 * s * series;
}
