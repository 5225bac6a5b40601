/** How much may leave: one slider, three lines that say what follows, and the exact message before it goes. */

import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { Preview } from "../../device/types.ts";
import { stickyLimit } from "../../device/consent.ts";
import { everyoneText, levelText, observerText } from "../measured.ts";
import { newest } from "../newest.ts";
import { guarded, ledger, likes, share, status, theDevice } from "../state.ts";
import { bytesText, percent, texts } from "../texts.ts";
import { MessagePreview } from "./message_preview.tsx";
import { TitleList } from "./title_list.tsx";

const STOPS = [0, 0.1, 0.5, 1];
const SMALL = 100; // people in a sum: fewer hide little
const chosen = signal<number | null>(null),
  found = signal<Preview | null>(null),
  opened = signal(false),
  allowed = signal(false), // sums without noise, by her tick
  done = signal("");
const newestPreview = newest<Preview | null | undefined>((made) => void (found.value = made ?? null));
const said = texts.share;

export function Share() {
  const { permission, federation, stage } = status.value!,
    facts = federation!;
  const now = permission.train ? permission.pi : 0,
    pi = chosen.value ?? now;
  useEffect(() => {
    found.value = null;
    void newestPreview(async () => (pi > 0 ? guarded(() => theDevice().preview(pi)) : null));
  }, [pi, likes.value]);
  if (!likes.value.length)
    return (
      <section class="card centre">
        <p>{said.need}</p>
        <a class="button" href="#/start">
          {texts.forYou.pick}
        </a>
      </section>
    );
  const closed = stage !== "member" && !facts.invited,
    asked = facts.exact && !facts.exactAllowed;
  return (
    <>
      <h1>{said.title}</h1>
      <p class="lead">{said.lead}</p>
      {closed && <p class="card">{said.invitation}</p>}
      {facts.minimum < SMALL && <p class="card warn">{said.small(facts.minimum)}</p>}
      <section class="card" aria-label={said.slider}>
        <p class="stage">
          <output data-share>{percent(pi)}</output> <span class="hint">{said.now(percent(now))}</span>
        </p>
        <input
          type="range"
          min="0"
          max="100"
          step="1"
          value={Math.round(100 * pi)}
          aria-label={said.slider}
          aria-valuetext={percent(pi)}
          onInput={({ currentTarget }) => (chosen.value = Number(currentTarget.value) / 100)}
        />
        <div class="stops">
          {STOPS.map((stop, place) => (
            <button key={stop} class="quiet" aria-pressed={pi === stop} onClick={() => (chosen.value = stop)}>
              {said.stops[place]}
            </button>
          ))}
        </div>
        <dl class="facts">
          <dt>{said.leaves}</dt>
          <dd>
            <Leaves pi={pi} />
          </dd>
          <dt>{said.observer}</dt>
          <dd>
            {pi === 0 ? (
              said.observerNothing
            ) : (
              <>
                <p>
                  {facts.epsilon === null
                    ? said.noNoise.replace("{n}", String(facts.minimum))
                    : said.epsilon(String(facts.epsilon), facts.against)}
                </p>
                <p>{observerText(facts, pi)}</p>
              </>
            )}
          </dd>
          <dt>{said.lose}</dt>
          <dd>
            <p>{said.loseList}</p>
            {pi > 0 && pi < 1 && (
              <p>
                {said.loseAlone}: {levelText(facts, pi)}
              </p>
            )}
            {pi > 0 && (
              <p>
                {said.loseAll}: {everyoneText(facts, pi)}
              </p>
            )}
          </dd>
        </dl>
        <p class="hint">{said.limit}</p>
        {pi > 0 && found.value && (
          <button class="quiet" aria-expanded={opened.value} onClick={() => (opened.value = !opened.value)}>
            {said.preview}
          </button>
        )}
        {pi > 0 && opened.value && found.value && <MessagePreview of={found.value} />}
        {asked && !closed && <Exact />}
        <div class="choice">
          <button class="button" onClick={() => void use(0)}>
            {said.keep}
          </button>
          <button
            class="button"
            disabled={pi === 0 || closed || (asked && !allowed.value)}
            onClick={() => void use(pi)}
          >
            {said.use}: {percent(pi)}
          </button>
        </div>
        <p aria-live="polite" data-said>
          {done.value}
        </p>
      </section>
    </>
  );
}

/** Exact: the titles are those whose coins fell so, as they would for every update. */
function Leaves({ pi }: { pi: number }) {
  const made = found.value;
  if (pi === 0 || !made) return <p>{pi === 0 ? said.leavesNothing : texts.loading}</p>;
  return (
    <>
      <p data-leaves>
        {said.leavesSome(made.shared.length, made.shared.length + made.kept.length, bytesText(made.bytes))}
      </p>
      {made.shared.length === 0 && <NoneUsed pi={pi} all={made.kept.length} />}
      <TitleList name={said.titles} items={made.shared} />
      <TitleList name={said.hidden} items={made.kept} />
    </>
  );
}

/** A message has the same length whatever is in it: then she should know that it has nothing, and what would. */
function NoneUsed({ pi, all }: { pi: number; all: number }) {
  const { never } = status.value!.permission;
  const free = likes.value.filter(({ item }) => !never.includes(item)).length;
  const place = STOPS.findIndex((stop) => stop > pi && stickyLimit(stop, all) > 0 && free > 0);
  return (
    <p data-none-used>
      {said.noneUsed}{" "}
      {place > 0 && (
        <button class="quiet" onClick={() => (chosen.value = STOPS[place]!)}>
          {said.next(said.stops[place]!, percent(STOPS[place]!))}
        </button>
      )}
    </p>
  );
}

/** To be ticked before she joins: it stands in the terms, and no share makes it less true. */
function Exact() {
  return (
    <label class="warn" data-exact>
      <input
        type="checkbox"
        checked={allowed.value}
        onChange={({ currentTarget }) => (allowed.value = currentTarget.checked)}
      />{" "}
      {said.exact}
    </label>
  );
}

async function use(pi: number): Promise<void> {
  const before = (ledger.value?.entries.length ?? 0) > 0;
  if (!(await share(pi, allowed.value))) return;
  chosen.value = null;
  done.value = pi === 0 ? (before ? said.stopped : said.leavesNothing) : said.now(percent(pi));
}
