/** The newest answer only: a slow one to an older question cannot overwrite it. */

/** Hands over what `work` makes, unless it was asked again meanwhile. */
export function newest<T>(take: (made: T) => void): (work: () => Promise<T>) => Promise<void> {
  let asked = 0;
  return async (work) => {
    const mine = ++asked;
    const made = await work();
    if (mine === asked) take(made);
  };
}
