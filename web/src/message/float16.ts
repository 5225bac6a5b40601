/** Half precision to single, by a table of all 65,536: a model of a million numbers takes milliseconds. */

let table: Float32Array | null = null;

export function float16Table(): Float32Array {
  table ??= Float32Array.from({ length: 65536 }, (_, bits) => single(bits));
  return table;
}

function single(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}
