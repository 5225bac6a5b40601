/** The list, each with what can truly be said about why; and beside it what is the same for everyone. */

import { signal } from "@preact/signals";
import type { Ranking, Reason } from "../../device/types.ts";
import { liked, likes, lookAs, persona, popular, ranking, SHOWN, status, titles, toggle } from "../state.ts";
import { bytesText, texts } from "../texts.ts";

const personal = signal(true);
const said = texts.forYou;

export function ForYou() {
  const found = personal.value ? ranking.value : popular.value,
    { model } = status.value!;
  return (
    <>
      <h1>{said.title}</h1>
      <div class="tabs" role="tablist">
        {(
          [
            [true, said.tabs.personal],
            [false, said.tabs.popular],
          ] as const
        ).map(([own, text]) => (
          <button key={text} role="tab" aria-selected={personal.value === own} onClick={() => (personal.value = own)}>
            {text}
          </button>
        ))}
      </div>
      {personal.value && persona.value && (
        <section class="card" data-persona>
          <p>{said.somebody(persona.value.kind, likes.value.length)}</p>
          <button class="button" onClick={() => void lookAs(null)}>
            {said.own}
          </button>
        </section>
      )}
      {!model ? (
        <p class="card">{said.noModel}</p>
      ) : found ? (
        <List found={found} />
      ) : (
        <section class="card centre">
          <p>{said.empty}</p>
          <a class="button" href="#/start">
            {said.pick}
          </a>
        </section>
      )}
      {found && model && (
        <p class="hint">{said.footer(found.milliseconds.toFixed(1), model.round, bytesText(model.bytes))}</p>
      )}
    </>
  );
}

function List({ found }: { found: Ranking }) {
  const known = titles.value!;
  return (
    <>
      {!found.personal && <p class="hint">{said.everybody}</p>}
      <ol class="list" data-list={found.personal ? "personal" : "popular"}>
        {found.list.slice(0, SHOWN).map(({ item, reasons }, place) => {
          const { name, year, kinds } = known.of(item),
            on = liked.value.has(item);
          return (
            <li key={item} class="card">
              <span class="place" aria-hidden="true">
                {place + 1}
              </span>
              <div>
                <h2>
                  {name} <small>{year}</small>
                </h2>
                <p class="kinds">{kinds.slice(0, 4).join(" · ")}</p>
                {reasons.length > 0 && (
                  <p class="why">
                    {reasonText(reasons)} {!reasons.every(({ local }) => local) && <small>{said.shared}</small>}
                  </p>
                )}
              </div>
              <button
                class="quiet"
                aria-pressed={on}
                onClick={() => void toggle(item)}
                aria-label={`${said.like}: ${known.text(item)}`}
              >
                {on ? said.liked : said.like}
              </button>
            </li>
          );
        })}
      </ol>
    </>
  );
}

/** "Similar to" where only likeness is known; "because of" where the score is a sum of terms. */
function reasonText(reasons: readonly Reason[]): string {
  const terms = reasons
    .filter(({ kind, weight }) => kind === "term" && weight > 0)
    .slice(0, 3)
    .map(({ label }) => label);
  if (terms.length) return said.terms(terms.join(", "));
  const near = reasons.flatMap(({ item }) => (item === null ? [] : [titles.value!.of(item).name])).slice(0, 2);
  return said.similar(near.join(said.and));
}
