import { expect, test } from "vitest";
import { utf8 } from "../src/bytes.ts";
import { readCanonical, spelledString } from "../src/protocol/canonical.ts";
import { record, settings, whole } from "../src/protocol/fields.ts";

const any = record({ protocol: whole(3, 4), x: () => null });
const read = (x: string) => readCanonical<{ x: unknown }>(utf8(`{"protocol":3,"x":${x}}`), any, "it").x;

test.each([
  "0",
  "-1",
  "0.5",
  "1e-05",
  "1e+16",
  "60.0",
  "-0.0",
  "123456789012345680000",
  "true",
  "null",
  "[]",
  "{}",
  '""',
  '"\\u00e9\\ud83d\\ude00\\n\\"\\\\\\u0000"',
  '{"a":[1,{"b":2.5}],"b":"x"}',
])("%s is read", (x) => {
  expect(read(x)).toEqual(JSON.parse(x));
});

test.each([
  "-0",
  "1.",
  ".5",
  "1.50",
  "1E5",
  "1e5",
  "0.00001",
  "1e-5",
  "01",
  "+1",
  "NaN",
  "Infinity",
  "1e999",
  " 1",
  "[1, 2]",
  '{"b":1,"a":2}',
  '{"a":1,"a":1}',
  '"é"',
  '"\\u00E9"',
  '"\\/"',
  '"\\u000a"',
  "[1,]",
  "'a'",
  "tru",
  "",
  '"a',
  "[".repeat(9) + "]".repeat(9),
])("%s is refused", (x) => {
  expect(() => read(x)).toThrow(/canonical form|JSON object/);
});

test("a count is no double, a version is this one, and fields are exactly those", () => {
  const shape = record({ protocol: whole(3, 4), n: whole(0, 2 ** 32), s: settings });
  const told = (text: string) => () => readCanonical(utf8(text), shape, "it");
  expect(told('{"n":5,"protocol":3,"s":{"constructor":1}}')()).toMatchObject({ n: 5 });
  expect(told('{"n":5.0,"protocol":3,"s":{}}')).toThrow(/n has the wrong type/);
  expect(told('{"n":4294967296,"protocol":3,"s":{}}')).toThrow(/n has the wrong type/);
  expect(told('{"n":5,"protocol":3}')).toThrow(/other fields/);
  expect(told('{"__proto__":1,"n":5,"protocol":3,"s":{}}')).toThrow(/other fields/);
  expect(told('{"n":5,"protocol":2,"s":{}}')).toThrow(/version must be 3/);
  expect(told("[2]")).toThrow(/must be a JSON object/);
  expect(spelledString("é\u007f")).toBe('"\\u00e9\u007f"');
});
