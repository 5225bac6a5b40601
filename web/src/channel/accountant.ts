/**
 * How much noisy sums reveal, in closed form: Gaussian differential privacy. Balle and Wang (ICML 2018), theorem
 * 8; Dong, Roth and Su (JRSS-B 2022): releases add up as mu^2. The unit is one person with everything she shares.
 */

export const UNIT = "one person with everything she shares: her upload against one that says nothing";
export const AGAINST = "the coordinator, all other devices together and one curious aggregator";
const LEAST = 1e-12; // of the longest contribution: less noise hides nothing

/** delta of a Gaussian mechanism: Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu). */
export function deltaOf(mu: number, epsilon: number): number {
  if (mu === 0) return 0;
  const above = logNormal(mu / 2 - epsilon / mu);
  const below = logNormal(-mu / 2 - epsilon / mu);
  return Math.exp(above) - Math.exp(epsilon + below);
}

/** The smallest epsilon that holds at this delta; infinite where there is no noise. */
export function epsilonOf(mu: number, delta: number): number {
  if (mu === Infinity) return Infinity;
  if (mu === 0 || deltaOf(mu, 0) <= delta) return 0;
  let low = 0;
  let high = 1;
  while (deltaOf(mu, high) > delta) high *= 2;
  for (let step = 0; step < 200 && high - low > 1e-13 * high; step++) {
    const middle = (low + high) / 2;
    if (deltaOf(mu, middle) > delta) low = middle;
    else high = middle;
  }
  return high;
}

/** mu of releases whose noise has these multiples of the longest contribution, each so often. */
export function composed(releases: readonly (readonly [multiplier: number, times: number])[]): number {
  let squares = 0;
  for (const [multiplier, times] of releases) {
    if (times && multiplier / Math.sqrt(times) < LEAST) return Infinity;
    if (times) squares += times / multiplier ** 2;
  }
  return Math.sqrt(squares);
}

/** The logarithm of the standard normal distribution function. */
export function logNormal(x: number): number {
  const z = Math.abs(x) / Math.SQRT2;
  if (z < 2) return Math.log(x < 0 ? (1 - erf(z)) / 2 : (1 + erf(z)) / 2);
  const tail = Math.log(scaledErfc(z) / 2) - z * z;
  return x < 0 ? tail : Math.log1p(-Math.exp(tail));
}

/** 2/sqrt(pi) e^(-z^2) (z + 2 z^3/3 + 4 z^5/15 + …): every term is positive. */
function erf(z: number): number {
  let term = z;
  let sum = z;
  for (let n = 1; term > 1e-18 * sum; n++) {
    term *= (2 * z * z) / (2 * n + 1);
    sum += term;
  }
  return (2 / Math.sqrt(Math.PI)) * Math.exp(-z * z) * sum;
}

/** e^(z^2) erfc(z) by its continued fraction, from the inside outwards; z >= 2. */
function scaledErfc(z: number): number {
  let inner = z;
  for (let n = 200; n > 0; n--) inner = z + n / 2 / inner;
  return 1 / (inner * Math.sqrt(Math.PI));
}
