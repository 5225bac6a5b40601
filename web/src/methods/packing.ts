/**
 * Counters of pairs packed into words (docs/wire.md, `pairs`). A pair of items occurs at most as often as the
 * rarer of the two, so its counter needs that many bits, and several share one word. Everybody works the places
 * out from the counts alone.
 */

const WORD = 32; // bits

export class PackedPairs {
  readonly items: number[]; // that take part, by rank: the rarer first, ties by number
  readonly words: number;
  private readonly ranks = new Map<number, number>();
  private readonly bits: number[]; // of the counters in the row of each rank
  private readonly place: number[]; // the pair (a, b) is counter place[a] + b of its block
  private readonly base: number[]; // the word where the block of each rank begins

  constructor(
    private readonly counts: readonly number[],
    least: number,
  ) {
    const there = counts.flatMap((count, item) => (count >= Math.max(1, least) ? [item] : []));
    this.items = there.sort((a, b) => counts[a]! - counts[b]! || a - b);
    this.items.forEach((item, rank) => this.ranks.set(item, rank));
    this.bits = this.items.map((item) => counts[item]!.toString(2).length);
    const n = this.items.length;
    this.place = [];
    this.base = [];
    let word = 0;
    let inBlock = 0; // words before the block, counters of the block before the row
    for (let a = 0; a < n; a++) {
      if (a && this.bits[a] !== this.bits[a - 1]) {
        word += Math.ceil(inBlock / this.each(a - 1));
        inBlock = 0;
      }
      this.place.push(inBlock - a - 1);
      this.base.push(word);
      inBlock += n - 1 - a;
    }
    this.words = n < 2 ? 0 : word + Math.ceil(inBlock / this.each(n - 1));
  }

  /** One person's pairs of items, as words; items that take no part are left out. */
  pack(own: Iterable<number>): Uint32Array {
    const words = new Uint32Array(this.words);
    const mine: number[] = [];
    for (const item of own) if (this.ranks.has(item)) mine.push(this.ranks.get(item)!);
    mine.sort((a, b) => a - b);
    mine.forEach((a, at) => {
      for (const b of mine.slice(at + 1)) this.add(words, a, b, 1);
    });
    return words;
  }

  /** The largest sum of every word: no counter is above the count of its rarer item. */
  bounds(): Uint32Array {
    const most = new Uint32Array(this.words);
    const n = this.items.length;
    for (let a = 0; a < n - 1; a++) {
      for (let b = a + 1; b < n; b++) this.add(most, a, b, this.counts[this.items[a]!]!);
    }
    return most;
  }

  private add(words: Uint32Array, a: number, b: number, times: number): void {
    const counter = this.place[a]! + b;
    const each = this.each(a);
    const word = this.base[a]! + Math.floor(counter / each);
    words[word] = words[word]! + times * 2 ** (this.bits[a]! * (counter % each));
  }

  private each(rank: number): number {
    return Math.floor(WORD / this.bits[rank]!);
  }
}
