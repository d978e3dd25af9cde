import fc from "fast-check";

// Values that often break programs. Strings represent bytes: one character is one byte (latin1).

export const bytes = (text: string): Buffer => Buffer.from(text, "latin1");
export const utf8 = (text: string): string => Buffer.from(text, "utf8").toString("latin1");

const NASTY = [
  "",
  " ",
  "\0",
  "\r\n",
  "\r\n\r\n",
  "\n",
  "\t",
  "%00",
  "%ZZ",
  "%2e%2e%2f",
  "..",
  "../../../../etc/passwd",
  "__proto__",
  "constructor",
  "toString",
  "null",
  "undefined",
  "NaN",
  "-1",
  "1e999",
  "9007199254740993",
  "99999999999999999999",
  "0x10",
  "true",
  "[]",
  "{}",
  "'\"`;--",
  "${7*7}",
  "<script>",
  "\u00ff\u00fe",
  "\u00e2\u0082",
  "\u00ed\u00a0\u0080",
  "\x7f",
  "\x1b[31m",
];

const long = fc.tuple(
  fc.constantFrom("a", "%41", "\u00ff", "[", '{"a":', "../", "a,", "a=b&", " "),
  fc.constantFrom(10, 100, 1_000, 10_000),
);

// Any bytes, mostly short.
export const anyText = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...NASTY) },
  { weight: 4, arbitrary: fc.string({ maxLength: 12 }) },
  { weight: 2, arbitrary: fc.array(fc.integer({ min: 0, max: 255 }), { maxLength: 12 }).map((codes) => String.fromCharCode(...codes)) },
  { weight: 1, arbitrary: long.map(([text, times]) => text.repeat(times)) },
);

// Text without control characters, which would end the field.
export const fieldText = anyText.map((text) => text.replaceAll(/[\0\r\n]/g, ""));

export const jsonValue = fc.oneof(
  { weight: 4, arbitrary: fc.jsonValue({ maxDepth: 2 }) },
  { weight: 3, arbitrary: fc.constantFrom<unknown>(null, true, 0, -0, 1.5, -1, 1e308, 2 ** 53, "", [], {}, [[]], { a: { b: {} } }) },
  { weight: 2, arbitrary: anyText },
);

// A change of single bytes. `at` is a position between the beginning (0) and the end (1).
export interface Damage {
  at: number;
  remove: number;
  insert: string;
}

// A position between the beginning (0) and the end (1), evenly distributed.
export const place = fc.integer({ min: 0, max: 1000 }).map((part) => part / 1000);

export const damage: fc.Arbitrary<Damage> = fc.record({
  at: place,
  remove: fc.oneof({ weight: 3, arbitrary: fc.integer({ min: 0, max: 3 }) }, fc.constantFrom(10, 100, 100_000)),
  insert: anyText,
});

export function applyDamage(text: string, damages: readonly Damage[]): string {
  return damages.reduce((whole, { at, remove, insert }) => {
    const place = Math.floor(at * whole.length);
    return whole.slice(0, place) + insert + whole.slice(place + remove);
  }, text);
}

// Mostly one of the valid values.
export const mostly = <T>(right: fc.Arbitrary<T>, wrong: fc.Arbitrary<T>, weight = 6): fc.Arbitrary<T> =>
  fc.oneof({ weight, arbitrary: right }, { weight: 1, arbitrary: wrong });

// A list that is mostly empty.
export const seldom = <T>(item: fc.Arbitrary<T>, weight = 8): fc.Arbitrary<T[]> =>
  fc.oneof({ weight, arbitrary: fc.constant<T[]>([]) }, { weight: 1, arbitrary: fc.array(item, { minLength: 1, maxLength: 3 }) });
