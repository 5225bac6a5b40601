import { expect, test } from "vitest";
import { Stream } from "../src/numerics/philox.ts";
import { topK } from "../src/numerics/ranking.ts";

test("the best k are those of a stable sort, ties by number, whatever is left out", () => {
  for (let round = 0; round < 50; round++) {
    const drawn = new Stream([round, 1], 0, 1024);
    const n = 1 + drawn.below(40);
    const k = drawn.below(12);
    const scores = Float32Array.from({ length: n }, () => drawn.below(6) - 3);
    const kept = Array.from(scores, () => drawn.coin(0.7));
    const all = Array.from(scores.keys());
    const keep = (item: number) => kept[item]!;
    const sorted = all
      .filter(keep)
      .sort((a, b) => scores[b]! - scores[a]! || a - b)
      .slice(0, k);
    expect(topK(scores, all, k, keep)).toEqual(sorted);
  }
});

test("a score that is no number is never recommended", () => {
  expect(topK([NaN, 1, NaN, 2], [0, 1, 2, 3], 3, () => true)).toEqual([3, 1]);
});
