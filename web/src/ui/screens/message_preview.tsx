/** A message before it is split and sealed: who gets how many bytes, and each row by the title it stands for. */

import type { DecodedUpdate, Preview } from "../../device/types.ts";
import { saveFile } from "../save_file.ts";
import { liked, titles } from "../state.ts";
import { bytesText, texts } from "../texts.ts";

const ROWS = 12;
const said = texts.share;

export function MessagePreview({ of }: { of: Preview }) {
  return (
    <section class="message" data-preview>
      <h2>{said.previewTitle}</h2>
      <ul>
        {of.messages.map(({ to, purpose, bytes }) => (
          <li key={to + purpose}>
            {said.previewWhere(bytesText(bytes), to)} <small>{texts.left.purposes[purpose] ?? purpose}</small>
          </li>
        ))}
      </ul>
      {of.update?.tables.map((table) => (
        <Rows key={table.name} table={table} />
      ))}
      <button class="quiet" onClick={() => saveFile("murmura-message.json", text(of))}>
        {said.download}
      </button>
    </section>
  );
}

function Rows({ table: { name, width, index, values } }: { table: DecodedUpdate["tables"][number] }) {
  const largest = values.reduce((most, value) => Math.max(most, Math.abs(value)), 0) || 1,
    known = titles.value!;
  const order = Array.from(index, (item, row) => ({ item, row })).sort(
    (one, other) => Number(liked.value.has(other.item)) - Number(liked.value.has(one.item)),
  );
  return (
    <>
      <p>
        {name}: {said.previewRows(index.length)}
      </p>
      <table class="strips">
        <tbody>
          {order.slice(0, ROWS).map(({ item, row }) => (
            <tr key={row}>
              <th scope="row">
                {liked.value.has(item) ? "♥ " : ""}
                {known.text(item)}
              </th>
              <td>
                <svg viewBox={`0 0 ${width * 6} 12`} width={width * 6} height="12" role="img" aria-label={`${width}`}>
                  {Array.from({ length: width }, (_, place) => {
                    const value = values[row * width + place]! / largest;
                    return (
                      <rect
                        key={place}
                        x={6 * place}
                        y="0"
                        width="5"
                        height="12"
                        class={value < 0 ? "down" : "up"}
                        opacity={0.08 + 0.92 * Math.abs(value)}
                      />
                    );
                  })}
                </svg>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {index.length > ROWS && <p class="hint">{said.previewMore(index.length - ROWS)}</p>}
    </>
  );
}

function text({ phase, pi, messages, update, vector }: Preview): string {
  const tables = update?.tables.map(({ name, width, index, values }) => ({
    name,
    width,
    items: [...index],
    values: [...values],
  }));
  return JSON.stringify(
    {
      phase,
      pi,
      messages: messages.map(({ to, purpose, bytes }) => ({ to, purpose, bytes })),
      tables,
      vector: [...vector],
    },
    (_, value: unknown) => (typeof value === "bigint" ? String(value) : value),
    1,
  );
}
