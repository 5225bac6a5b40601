/** Likes: search, sample profiles, a file of one's own. */

import { signal } from "@preact/signals";
import { readOwnFile } from "../own_file.ts";
import {
  FIRST,
  guarded,
  like,
  likes,
  lookAs,
  persona,
  popular,
  popularity,
  theDevice,
  titles,
  toggle,
} from "../state.ts";
import { texts } from "../texts.ts";
import { ItemRow } from "./item_row.tsx";

const FOUND = 12,
  SAMPLES = 4;
const wanted = signal(""),
  note = signal("");
const said = texts.start;

export function Start() {
  const known = titles.value!,
    mine = likes.value;
  const rank = (item: number) => popularity.value.get(item) ?? 1e6;
  const found = known.search(wanted.value, FOUND, rank);
  const shown = wanted.value.trim() ? found : (popular.value?.list ?? []).slice(0, FOUND).map(({ item }) => item);
  return (
    <div class="two">
      <section>
        <h1>{said.title}</h1>
        <p class="lead">{said.promise}</p>
        <label class="search">
          <span class="hidden">{said.search}</span>
          <input
            type="search"
            placeholder={said.search}
            value={wanted.value}
            autocomplete="off"
            onInput={({ currentTarget }) => (wanted.value = currentTarget.value)}
          />
        </label>
        <h2>{wanted.value.trim() ? said.search : said.popular}</h2>
        {shown.length ? (
          <ul class="items">
            {shown.map((item) => (
              <ItemRow key={item} item={item} />
            ))}
          </ul>
        ) : (
          <p class="hint">{said.none}</p>
        )}
      </section>
      <aside>
        <section class="card">
          <h2>{said.yours(mine.length)}</h2>
          {mine.length ? (
            <ul class="chips">
              {mine.map(({ item }) => (
                <li key={item}>
                  <button onClick={() => void toggle(item)} aria-label={said.remove(known.text(item))}>
                    {known.text(item)} <b aria-hidden="true">×</b>
                  </button>
                </li>
              ))}
            </ul>
          ) : (
            <p class="hint">{said.nothing}</p>
          )}
          <p aria-live="polite">
            {mine.length >= FIRST ? said.enough : mine.length > 0 && said.fewer(FIRST - mine.length)}
          </p>
          {mine.length > 0 && (
            <a class="button" href="#/for-you">
              {said.see}
            </a>
          )}
        </section>
        <Samples />
        <section class="card">
          <h2>{said.open}</h2>
          <p class="hint">{said.openHint}</p>
          <input
            type="file"
            aria-label={said.open}
            accept=".csv,.dat,.data,.tsv,.txt"
            onChange={({ currentTarget }) => void open(currentTarget)}
          />
          <p aria-live="polite">{note.value}</p>
        </section>
      </aside>
    </div>
  );
}

/** What somebody who likes one kind would pick: the best known of that kind. Her own likes stay as they are. */
function Samples() {
  const known = titles.value!,
    best = (popular.value?.list ?? []).map(({ item }) => item);
  const kinds = known
    .kinds()
    .slice(1)
    .filter((kind) => best.filter((item) => known.of(item).kinds.includes(kind)).length >= FIRST);
  if (!kinds.length) return null;
  const show = (kind: string) => {
    const picked = best.filter((item) => known.of(item).kinds.includes(kind)).slice(0, FIRST);
    void lookAs({ kind, likes: picked.map((item) => ({ item, value: 1, time: null })) });
    location.hash = "#/for-you";
  };
  return (
    <section class="card">
      <h2>{said.samples}</h2>
      <p class="hint">{said.samplesHint}</p>
      <ul class="chips">
        {kinds.slice(0, SAMPLES).map((kind) => (
          <li key={kind}>
            <button aria-pressed={persona.value?.kind === kind} onClick={() => show(kind)}>
              {said.sample(kind)}
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}

async function open(input: HTMLInputElement): Promise<void> {
  const file = input.files?.[0];
  if (!file) return;
  await guarded(async () => {
    const found = await readOwnFile(file, titles.value!, (labels) => theDevice().find(labels));
    await like(found.likes);
    note.value = said.opened(found.likes.length, found.rows, found.note);
  });
  input.value = "";
}
