/** Titles in one line, the first few of them open. */

import { titles } from "../state.ts";

const OPEN = 6;

export function TitleList({ name, items }: { name: string; items: readonly number[] }) {
  if (!items.length) return null;
  const known = titles.value!,
    shown = items
      .slice(0, OPEN)
      .map((item) => known.of(item).name)
      .join(", ");
  if (items.length <= OPEN)
    return (
      <p class="titles">
        <b>{name}</b> {shown}
      </p>
    );
  return (
    <details class="titles">
      <summary>
        <b>{name}</b> {shown}, …
      </summary>
      <p>
        {items
          .slice(OPEN)
          .map((item) => known.of(item).name)
          .join(", ")}
      </p>
    </details>
  );
}
