/** A title with its heart. */

import { liked, titles, toggle } from "../state.ts";
import { texts } from "../texts.ts";

export function ItemRow({ item }: { item: number }) {
  const { name, year, kinds } = titles.value!.of(item),
    on = liked.value.has(item);
  return (
    <li>
      <button class={on ? "item on" : "item"} aria-pressed={on} onClick={() => void toggle(item)}>
        <span class="title">
          <span class="hidden">{texts.forYou.like} </span>
          {name} <small>{year}</small>
        </span>
        <span class="kinds">{kinds.slice(0, 3).join(" · ")}</span>
        <svg class="heart" viewBox="0 0 24 24" aria-hidden="true">
          <path d="M12 20s-7-4.600-7-9.600A4.100 4.100 0 0 1 12 7a4.100 4.100 0 0 1 7 3.400c0 5-7 9.600-7 9.600z" />
        </svg>
      </button>
    </li>
  );
}
