import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createJsonScanner } from "./json-scanner.ts";
import { JsonFault, type ScannedValue } from "./json-value.ts";
import type { Shape } from "./json-shape.ts";

// A shape for all values, so that the rules about field names apply everywhere.
const EVERYTHING: Shape<string> = { mark: "value" };
EVERYTHING.items = EVERYTHING;
EVERYTHING.otherFields = EVERYTHING;

type Seen = Omit<ScannedValue, "path"> & { path: string };

function scan(text: string | Uint8Array, shape: Shape<string> = EVERYTHING, cut = Infinity): Seen[] {
  const bytes = typeof text === "string" ? Buffer.from(text) : text;
  const seen: Seen[] = [];
  const scanner = createJsonScanner(shape, (_mark, value) => void seen.push({ ...value, path: value.path() }));
  for (let at = 0; at < bytes.length; at += cut) scanner.write(bytes.subarray(at, at + cut));
  scanner.end();
  return seen;
}

function accepts(bytes: Uint8Array, shape?: Shape<string>, cut?: number): boolean {
  try {
    scan(bytes, shape, cut);
    return true;
  } catch (error) {
    expect(error).toBeInstanceOf(JsonFault);
    return false;
  }
}

function parses(bytes: Uint8Array): boolean {
  try {
    JSON.parse(Buffer.from(bytes).toString("latin1"));
    return true;
  } catch {
    return false;
  }
}

const OPAQUE: Shape<string> = {};

describe("the scanner", () => {
  test("accepts exactly what JSON.parse accepts, however the bytes are split", () => {
    // Almost JSON: a document with a few bytes inserted, removed or changed.
    const bytes = fc
      .tuple(
        fc.json({ maxDepth: 4 }),
        fc.array(fc.tuple(fc.nat(), fc.constantFrom(...'{}[],:"\\/-+.0123456789eEtrufalsn \t\r\nxé\u0001'.split("")))),
      )
      .map(([json, edits]) => {
        let text = json;
        for (const [where, byte] of edits) {
          const at = where % (text.length + 1);
          text = text.slice(0, at) + byte + text.slice(at + (where % 3));
        }
        return Buffer.from(text, "latin1");
      });
    fc.assert(
      fc.property(bytes, fc.integer({ min: 1, max: 9 }), (document, cut) => {
        expect(accepts(document, OPAQUE, cut)).toBe(parses(document));
      }),
      { numRuns: 3000 },
    );
  });

  test.each([
    "01",
    "-",
    "1.",
    ".5",
    "1e",
    "1e+",
    "+1",
    "0x1",
    "NaN",
    "Infinity",
    "-Infinity",
    "nul",
    "nulll",
    "truee",
    "'a'",
    "{a:1}",
    '{"a":1,}',
    "[1,]",
    "[,1]",
    "{,}",
    '{"a"}',
    '{"a":}',
    '{"a" 1}',
    "[1 2]",
    "[1}",
    '{"a":1]',
    "1 2",
    "{} {}",
    "// x\n1",
    "/**/1",
    '"\u0001"',
    '"\n"',
    '"\\x"',
    '"\\u12g4"',
    '"\\u12"',
    '"',
    "",
    " ",
    "[",
    "{",
    '{"a":',
    "\ufeff{}",
    "}",
    "]",
  ])("refuses %j", (text) => {
    expect(accepts(Buffer.from(text), OPAQUE)).toBe(false);
    expect(accepts(Buffer.from(text))).toBe(false);
  });

  test("shows values with their kind, text, offsets and path", () => {
    const text = ' {"a": [1.5e3, {"b": "x\\u0041"}], "c" : null,"d":{ }}';
    for (const cut of [1, 2, 3, 100]) {
      const seen = scan(text, EVERYTHING, cut);
      expect(seen.map(({ kind, path, text: shown }) => [kind, path, shown])).toEqual([
        ["number", "a", "1.5e3"],
        ["string", "a.b", "x\\u0041"],
        ["object", "a", ""],
        ["array", "a", ""],
        ["null", "c", ""],
        ["object", "d", ""],
        ["object", "", ""],
      ]);
      expect(seen.map(({ start, end }) => text.slice(start, end))).toEqual([
        "1.5e3",
        '"x\\u0041"',
        '{"b": "x\\u0041"}',
        '[1.5e3, {"b": "x\\u0041"}]',
        "null",
        "{ }",
        text.trim(),
      ]);
      expect(seen.filter(({ empty }) => empty).map(({ path }) => path)).toEqual(["d"]);
    }
  });

  test("shows the values that JSON.parse returns", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.stringMatching(/^[a-z_]{1,8}$/), fc.jsonValue({ maxDepth: 3 })), (document) => {
        const fields = Object.keys(document);
        const shape: Shape<string> = { fields: new Map(fields.map((field) => [field, { mark: field }])) };
        const text = JSON.stringify(document);
        const shown = scan(text, shape).map(({ path, start, end }) => [
          path,
          JSON.parse(Buffer.from(text).subarray(start, end).toString()) as unknown,
        ]);
        expect(Object.fromEntries(shown)).toEqual(JSON.parse(text));
      }),
    );
  });

  test("shows the first bytes of a long string", () => {
    const [value] = scan(JSON.stringify("ab".repeat(1000)), EVERYTHING, 7);
    expect(value?.text).toBe("ab".repeat(64));
  });

  test.each([
    ['{"a":1,"a":2}', 'the field "a" occurs twice'],
    ['{"a":1,"b":2,"A":3}', 'the field "A" occurs twice'],
    ['{"a":{"b":[{"c":1,"c":1}]}}', 'the field "a.b.c" occurs twice'],
    ['{"\\u0061":1}', "escaped"],
    ['{"a\\u0000":1}', "escaped"],
    ['{"\u017Ftore":1}', "not plain ASCII"],
    [`{"${"a".repeat(200)}":1}`, "too long"],
    [`{${Array.from({ length: 200 }, (_, i) => `"a${i}":1`).join()}}`, "more than 128 fields"],
    [`${"[".repeat(200)}${"]".repeat(200)}`, "deeper than 128 levels"],
    [`${'{"a":'.repeat(200)}1${"}".repeat(200)}`, "deeper than 128 levels"],
  ])("refuses %s where it looks", (text, message) => {
    expect(() => scan(text)).toThrow(message);
    // The same text without a shape: only the depth is limited.
    if (!message.includes("levels")) expect(accepts(Buffer.from(text), OPAQUE)).toBe(true);
  });

  test("refuses a field of the shape in another case", () => {
    const shape: Shape<string> = { fields: new Map([["background", { mark: "background" }]]) };
    expect(() => scan('{"BackGround":true}', shape)).toThrow('the field "BackGround" must be in lower case');
    expect(scan('{"Foreground":true}', shape)).toEqual([]);
  });

  test("scans several documents in sequence", () => {
    const seen: string[] = [];
    const scanner = createJsonScanner(EVERYTHING, (_mark, { kind }) => void seen.push(kind));
    for (const document of ['{"a":', "[1]", "7"]) {
      scanner.reset();
      scanner.write(Buffer.from(document));
    }
    scanner.end();
    expect(seen).toEqual(["number", "array", "number"]);
  });
});
