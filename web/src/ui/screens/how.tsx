/** How it works, in four steps and a picture that adds up; what is promised, and what cannot be. */

import { Fragment } from "preact";
import { status } from "../state.ts";
import { texts } from "../texts.ts";
import { SharesPicture } from "./shares_picture.tsx";

const said = texts.how;

export function How() {
  const facts = status.value!.federation!;
  return (
    <>
      <h1>{said.title}</h1>
      <ol class="steps">
        {said.steps.map(([name, text]) => (
          <li key={name} class="card">
            <h2>{name}</h2>
            <p>{text}</p>
          </li>
        ))}
      </ol>
      <SharesPicture />
      <section class="card label">
        <h2>{said.label}</h2>
        <dl class="facts">
          {Object.values(said.facts).map(([name, text]) => (
            <Fragment key={name}>
              <dt>{name}</dt>
              <dd>{text!.replace("{n}", String(facts.minimum))}</dd>
            </Fragment>
          ))}
        </dl>
      </section>
      <section class="card">
        <h2>{said.federation}</h2>
        {facts.pinnedBy !== "invitation" && <p class="warn">{said.without}</p>}
        <dl class="facts">
          <dt>{said.method}</dt>
          <dd>{facts.method}</dd>
          <dt>{said.minimum}</dt>
          <dd>
            {facts.minimum} {said.people}
          </dd>
          <dt>{said.deviceCounts}</dt>
          <dd>
            {facts.people} {said.people}
          </dd>
          <dt>{said.noise}</dt>
          <dd>
            {facts.epsilon === null
              ? said.noNoise
              : `epsilon ${facts.epsilon}, delta ${facts.delta}; ${facts.unit}, ${facts.against}`}
          </dd>
          <dt>{said.machines}</dt>
          <dd>
            <ul class="plain">
              {facts.machines.map(({ role, url, key }) => (
                <li key={role}>
                  {role}: {url} <code>{key.slice(0, 16)}…</code>
                </li>
              ))}
            </ul>
          </dd>
        </dl>
        <p>
          <a href="/operator">{said.operator}</a>
        </p>
      </section>
      <section class="card">
        <h2>{said.limits}</h2>
        <ul>
          {said.limitsList.map((one) => (
            <li key={one}>{one}</li>
          ))}
        </ul>
      </section>
      <section class="card">
        <h2>{said.verify}</h2>
        <p>{said.verifyHint}</p>
        <pre>
          <code>murmura verify {location.origin}</code>
        </pre>
      </section>
    </>
  );
}
