/** Everything the browser holds about her: to see, to take along, to move, to delete. */

import { signal } from "@preact/signals";
import { saveFile } from "../save_file.ts";
import { erase, guarded, likes, never as neverShare, status, theDevice, titles } from "../state.ts";
import { texts } from "../texts.ts";

const asked = signal(false);
const said = texts.data;

export function MyData() {
  const known = titles.value!,
    never = new Set(status.value!.permission.never);
  return (
    <>
      <h1>{said.title}</h1>
      <p class="lead">{said.lead}</p>
      <section class="card">
        <h2>{said.likes(likes.value.length)}</h2>
        <p class="hint">{said.neverHint}</p>
        <ul class="plain">
          {likes.value.map(({ item }) => (
            <li key={item} class="line">
              <span>{known.text(item)}</span>
              <button
                class="quiet"
                aria-pressed={never.has(item)}
                onClick={() => void neverShare(item, !never.has(item))}
              >
                {said.never}
                <span class="hidden">: {known.text(item)}</span>
              </button>
            </li>
          ))}
        </ul>
      </section>
      <section class="card">
        <h2>{said.move}</h2>
        <p class="hint">{said.moveHint}</p>
        <button
          class="button"
          onClick={() => void guarded(async () => saveFile("murmura-device.json", await theDevice().exportAll()))}
        >
          {said.download}
        </button>
        <p>
          <label>
            {said.restore}{" "}
            <input type="file" accept=".json" onChange={({ currentTarget }) => void restore(currentTarget)} />
          </label>
        </p>
      </section>
      <Remove />
    </>
  );
}

/** To delete everything; it needs nothing that is kept to be of use. */
export function Remove() {
  return (
    <section class="card">
      <h2>{said.remove}</h2>
      <p class="hint">{said.honest}</p>
      {asked.value ? (
        <div role="alertdialog" aria-label={said.sure}>
          <p>{said.sure}</p>
          <div class="choice">
            <button class="button danger" onClick={() => void erase()}>
              {said.yes}
            </button>
            <button class="button" onClick={() => (asked.value = false)}>
              {said.no}
            </button>
          </div>
        </div>
      ) : (
        <button class="button danger" onClick={() => (asked.value = true)}>
          {said.remove}
        </button>
      )}
    </section>
  );
}

async function restore(input: HTMLInputElement): Promise<void> {
  const file = input.files?.[0];
  if (!file) return;
  await guarded(async () => {
    await theDevice().restore(await file.text());
    location.reload(); // as that device
  });
  input.value = "";
}
