/** A small live picture: three numbers in two halves each, and the sum that only both machines have together. */

import { signal } from "@preact/signals";
import { texts } from "../texts.ts";

const RING = 1000; // the real one has 2^32
const values = signal([3, 7, 5]),
  seed = signal(0);
const said = texts.how;

export function SharesPicture() {
  const drawn = values.value.map((value, n) => {
    const first = half(seed.value * 7 + n);
    return { value, first, second: (value - first + 2 * RING) % RING };
  });
  const sums = (["first", "second"] as const).map((which) => drawn.reduce((sum, one) => sum + one[which], 0) % RING);
  return (
    <figure class="card shares">
      <figcaption>{said.picture}</figcaption>
      <div class="scroll">
        <table>
          <thead>
            <tr>
              <th scope="col">{said.person}</th>
              <th scope="col" />
              <th scope="col">{said.first}</th>
              <th scope="col">{said.second}</th>
            </tr>
          </thead>
          <tbody>
            {drawn.map(({ value, first, second }, n) => (
              <tr key={n}>
                <th scope="row">{n + 1}</th>
                <td>
                  <input
                    type="range"
                    min="0"
                    max="9"
                    value={value}
                    aria-label={`${said.person} ${n + 1}`}
                    onInput={({ currentTarget }) =>
                      (values.value = values.value.map((one, m) => (m === n ? Number(currentTarget.value) : one)))
                    }
                  />
                  <b>{value}</b>
                </td>
                <td class="noise">{first}</td>
                <td class="noise">{second}</td>
              </tr>
            ))}
          </tbody>
          <tfoot>
            <tr>
              <th scope="row">{said.sum}</th>
              <td>
                <b>{(sums[0]! + sums[1]!) % RING}</b>
              </td>
              <td class="noise">{sums[0]}</td>
              <td class="noise">{sums[1]}</td>
            </tr>
          </tfoot>
        </table>
      </div>
      <p class="hint">
        {said.pictureNote}{" "}
        <button class="quiet" onClick={() => (seed.value += 1)}>
          {said.draw}
        </button>
      </p>
    </figure>
  );
}

/** A picture needs no secret: a number that looks unlike the one before it. */
function half(of: number): number {
  return Math.floor(((Math.imul(of + 1, 2654435761) >>> 0) / 2 ** 32) * RING);
}
