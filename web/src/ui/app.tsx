/** The frame: name, status pill, pause, navigation, and one screen. */

import {
  gone,
  ledger,
  meter,
  online,
  pause,
  paused,
  SCREENS,
  type Screen,
  screen,
  status,
  titles,
  trouble,
} from "./state.ts";
import { ForYou } from "./screens/for_you.tsx";
import { How } from "./screens/how.tsx";
import { Left } from "./screens/left.tsx";
import { MyData, Remove } from "./screens/my_data.tsx";
import { Share } from "./screens/share.tsx";
import { Start } from "./screens/start.tsx";
import { texts } from "./texts.ts";
import { pillText } from "./what_left.ts";

const shown = { start: Start, "for-you": ForYou, share: Share, left: Left, data: MyData, how: How };
const icons: Record<Screen, string> = {
  start: "M12 20s-7-4.6-7-9.6A4.1 4.1 0 0 1 12 7a4.1 4.1 0 0 1 7 3.4c0 5-7 9.6-7 9.6z",
  "for-you": "M4 6h16M4 12h16M4 18h10",
  share: "M12 15V4m0 0L8 8m4-4 4 4M5 13v6h14v-6",
  left: "M5 4h14v16l-3-2-2 2-2-2-2 2-2-2-3 2zM8 9h8M8 13h5",
  data: "M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8zm-7 8c.6-4 3.400-6 7-6s6.400 2 7 6",
  how: "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zm0-4v-5m0-4v.1",
};

export function App() {
  const Shown = shown[screen.value];
  return (
    <>
      <a class="skip" href="#main">
        {texts.screens[screen.value]}
      </a>
      <header>
        <a class="name" href="#/how">
          <img src="/icon.svg" alt="" width="28" height="28" />
          {texts.name}
        </a>
        <Pill />
        {status.value?.permission.train && (
          <button class="quiet" onClick={() => void pause(!paused.value)} aria-pressed={paused.value}>
            {paused.value ? texts.resume : texts.pause}
          </button>
        )}
        <span
          class={online.value ? "dot on" : "dot"}
          role="img"
          title={online.value ? texts.online : texts.offline}
          aria-label={online.value ? texts.online : texts.offline}
        />
      </header>
      <nav aria-label={texts.name}>
        {SCREENS.map((one) => (
          <a key={one} href={`#/${one}`} aria-current={one === screen.value ? "page" : undefined}>
            <svg viewBox="0 0 24 24" aria-hidden="true">
              <path d={icons[one]} />
            </svg>
            <span>{texts.screens[one]}</span>
          </a>
        ))}
      </nav>
      <main id="main" tabIndex={-1}>
        <div role="alert">
          {trouble.value && (
            <p class="trouble">
              {trouble.value}
              <button class="quiet" onClick={() => (trouble.value = "")}>
                {texts.close}
              </button>
            </p>
          )}
        </div>
        {gone.value !== null ? (
          <Gone />
        ) : titles.value ? (
          <Shown />
        ) : screen.value === "data" ? (
          <Remove />
        ) : (
          !trouble.value && <p class="loading">{texts.loading}</p>
        )}
      </main>
    </>
  );
}

/** What has left, always in sight. */
function Pill() {
  const undeclared = meter.value?.undeclared.length ?? 0,
    some = (ledger.value?.entries.length ?? 0) > 0;
  return (
    <a class={undeclared ? "pill alarm" : some ? "pill some" : "pill"} href="#/left" data-pill>
      {pillText({ ledger: ledger.value, deleted: gone.value !== null, paused: paused.value, undeclared })}
    </a>
  );
}

function Gone() {
  return (
    <section class="card centre">
      <p>{texts.data.deleted}</p>
      {gone.value && <p class="hint">{texts.data.left(gone.value)}</p>}
      <a class="button" href="/">
        {texts.data.again}
      </a>
    </section>
  );
}
