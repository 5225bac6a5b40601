/** The k best of many, by insertion: a catalogue is never sorted whole. Ties go to the lower number. */

export function topK(
  scores: ArrayLike<number>,
  among: readonly number[],
  k: number,
  keep: (item: number) => boolean,
): number[] {
  const best: number[] = [];
  let least = -Infinity;
  for (const item of among) {
    const score = scores[item]!;
    if ((best.length === k && !(score > least)) || Number.isNaN(score) || !keep(item)) continue;
    let place = best.length < k ? best.length : k - 1;
    while (place > 0 && scores[best[place - 1]!]! < score) {
      best[place] = best[place - 1]!;
      place--;
    }
    best[place] = item;
    if (best.length === k) least = scores[best[k - 1]!]!;
  }
  return k > 0 ? best : [];
}
