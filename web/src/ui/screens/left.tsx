/** The ledger: every upload with its titles, the bytes of the page beside those of the meter, and what was fetched. */

import type { LedgerEntry, TrafficEntry } from "../../device/types.ts";
import { saveFile } from "../save_file.ts";
import { guarded, ledger, meter, refresh, sent, theDevice } from "../state.ts";
import { bytesText, percent, texts } from "../texts.ts";
import { useEffect } from "preact/hooks";
import { TitleList } from "./title_list.tsx";

const said = texts.left;

export function Left() {
  useEffect(() => void refresh(), []);
  const kept = ledger.value,
    counted = meter.value;
  if (!kept || !counted) return <p class="loading">{texts.loading}</p>;
  const bytes = sent.value.reduce((sum, one) => sum + one.bytes, 0);
  const agree = counted.bytes === bytes && !counted.undeclared.length;
  return (
    <>
      <h1>{said.title}</h1>
      <p class="lead">{said.lead}</p>
      {counted.undeclared.length > 0 && (
        <section class="card alarm" data-undeclared>
          <h2>{said.undeclared}</h2>
          <p>{said.undeclaredLead}</p>
          <ul>
            {counted.undeclared.map((one, n) => (
              <li key={n}>
                <code>
                  {one.method} {one.url}
                </code>{" "}
                {bytesText(one.bytes + one.address)}
              </li>
            ))}
          </ul>
        </section>
      )}
      <p
        class={agree || !counted.available ? "verdict" : "verdict bad"}
        data-verdict
        data-page={bytes}
        data-meter={counted.bytes}
      >
        {!counted.available
          ? said.noMeter
          : agree
            ? said.agree(bytesText(bytes), bytesText(counted.bytes))
            : said.differ(bytesText(bytes), bytesText(counted.bytes))}
      </p>
      {sent.value.length ? <Traffic sent={sent.value} /> : <p class="card">{said.nothing}</p>}
      {kept.entries.map((one) => (
        <Upload key={one.hash} one={one} />
      ))}
      {kept.entries.length > 0 && (
        <>
          <p class="hint">{said.chain(kept.head.slice(0, 16))}</p>
          <button
            class="quiet"
            onClick={() => void guarded(async () => saveFile("murmura-ledger.csv", await theDevice().ledgerCsv()))}
          >
            {said.csv}
          </button>
        </>
      )}
      <details>
        <summary>
          {said.down} ({bytesText(kept.bytesDown)})
        </summary>
        <ul class="plain">
          {kept.traffic
            .filter(({ bytes: up }) => !up)
            .map((one) => (
              <li key={one.id}>
                <code>{one.url}</code> {said.times(one.times)}, {bytesText(one.received)}
              </li>
            ))}
        </ul>
      </details>
      <p class="hint">{said.check}</p>
    </>
  );
}

function Traffic({ sent: lines }: { sent: readonly TrafficEntry[] }) {
  const counted = new Map((meter.value?.counted ?? []).map(({ hash, bytes }) => [hash, bytes]));
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={said.title}>
      <table data-traffic>
        <thead>
          <tr>
            {said.columns.map((one) => (
              <th key={one} scope="col">
                {one}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {[...lines].reverse().map((one) => (
            <tr key={one.id}>
              <td>{new Date(one.time).toLocaleTimeString()}</td>
              <td>{one.round ?? ""}</td>
              <td>
                {said.purposes[one.purpose] ?? one.purpose} <small>{new URL(one.url).host}</small>
              </td>
              <td>{one.bytes.toLocaleString("en")}</td>
              <td>{counted.get(one.hash)?.toLocaleString("en") ?? "–"}</td>
              <td>{one.state}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Upload({ one }: { one: LedgerEntry }) {
  return (
    <section class="card" data-upload={one.items.join(" ")}>
      <h2>
        {said.upload(one.round)} <small>{one.phase}</small>
      </h2>
      <p>
        {bytesText(one.bytes)}
        {one.countersigned && `, ${said.countersigned}`}. {said.disclosed(percent(one.disclosed))}
        {one.epsilon !== null && `, epsilon ${one.epsilon.toFixed(2)}`}.
      </p>
      {one.items.length ? <TitleList name={said.contents} items={one.items} /> : <p class="hint">{said.none}</p>}
    </section>
  );
}
