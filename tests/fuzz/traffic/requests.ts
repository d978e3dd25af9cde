import fc from "fast-check";
import { anyText, applyDamage, damage, fieldText, mostly, place, seldom, type Damage } from "./values.ts";

// A request of a hostile client: mostly valid HTTP, with one or two faults.
export interface RequestPlan {
  method: string;
  target: string;
  version: string;
  headers: [string, string][];
  body: string | null;
  framing: "length" | "chunked" | "none" | "short" | "long" | "both" | "odd";
  damage: Damage[];
  // Places (0 to 1) where the bytes are cut into separate writes.
  cuts: number[];
  // Pipelines the same request again.
  copies: number;
}

const METHODS = ["GET", "POST", "PATCH", "PUT", "DELETE", "HEAD", "OPTIONS", "CONNECT", "TRACE", "PROPFIND", "get", "", "A".repeat(300)];

export const anyMethod = fc.constantFrom(...METHODS);

const COMMON_HEADERS: [string, fc.Arbitrary<string>][] = [
  ["accept", fc.constantFrom("*/*", "text/html", "application/json", "text/event-stream", "a,b;q=x")],
  ["accept-encoding", fc.constantFrom("gzip", "br;q=0", "identity, *;q=0")],
  ["connection", fc.constantFrom("keep-alive", "close", "upgrade", "te, close", "content-length")],
  ["content-encoding", fc.constantFrom("gzip", "br", "identity")],
  ["content-length", fc.constantFrom("0", "5", "-1", "1e3", "99999999999999999999", "0x5", "5, 5", "+5")],
  ["content-type", fc.constantFrom("application/json", "application/json; charset=utf-16", "text/plain", "multipart/form-data", ";;;", "")],
  ["expect", fc.constantFrom("100-continue", "200-ok", "")],
  ["host", fc.constantFrom("localhost", "", "a b", "[::1]:80", "x:99999", "%00", "a".repeat(300))],
  ["idempotency-key", fieldText],
  ["if-match", fc.constantFrom("*", '"1"', 'W/"1"', "1,2,3", '"')],
  ["last-event-id", fieldText],
  ["origin", fc.constantFrom("null", "http://localhost", "https://evil.invalid", "http://", "x")],
  ["range", fc.constantFrom("bytes=0-", "bytes=9-1", "bytes=-99999999999", "x")],
  ["te", fc.constantFrom("trailers", "chunked")],
  ["trailer", fc.constantFrom("X-Exit-Code", "content-length")],
  ["transfer-encoding", fc.constantFrom("chunked", "gzip, chunked", "chunked, chunked", "identity", "x")],
  ["upgrade", fc.constantFrom("websocket", "h2c", "WebSocket", "")],
  ["x-forwarded-for", fieldText],
  ["x-request-id", fieldText],
];

export const anyHeader: fc.Arbitrary<[string, string]> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .integer({ min: 0, max: COMMON_HEADERS.length - 1 })
      .chain((place) => fc.tuple(fc.constant(COMMON_HEADERS[place]![0]), mostly(COMMON_HEADERS[place]![1], fieldText))),
  },
  { weight: 1, arbitrary: fc.tuple(fieldText, fieldText) },
  { weight: 1, arbitrary: fc.tuple(fc.constantFrom("x-a", "cookie", "authorization", "x-api-key"), anyText) },
);

export const headerLists = (own: fc.Arbitrary<[string, string][]>): fc.Arbitrary<[string, string][]> =>
  fc.tuple(own, seldom(anyHeader, 3)).map(([first, more]) => [...first, ...more]);

export const anyFraming: fc.Arbitrary<RequestPlan["framing"]> = fc.oneof(
  { weight: 12, arbitrary: fc.constant("length" as const) },
  { weight: 3, arbitrary: fc.constant("chunked" as const) },
  { weight: 1, arbitrary: fc.constantFrom("none", "short", "long", "both", "odd") },
);

export const flaws = {
  version: mostly(fc.constant("HTTP/1.1"), fc.constantFrom("HTTP/1.0", "HTTP/2.0", "HTTP/9.9", "", "http/1.1"), 40),
  framing: anyFraming,
  damage: seldom(damage),
  cuts: seldom(place),
  copies: mostly(fc.constant(0), fc.integer({ min: 1, max: 3 }), 20),
};

// Whether the server must respond. It may wait for the rest of a broken request, and a refusal may get lost if the connection is
// reset while more bytes arrive.
export const isWellFormed = ({ framing, damage: damages, copies, version, headers, method, target }: RequestPlan): boolean =>
  (framing === "length" || framing === "chunked") &&
  damages.length === 0 &&
  copies === 0 &&
  version === "HTTP/1.1" &&
  METHOD.test(method) &&
  /^[\x21-\x7e]{1,2000}$/.test(target) &&
  headers.length <= 20 &&
  headers.every(([name, value]) => HEADER_NAME.test(name) && HEADER_VALUE.test(value) && !FRAMING_HEADERS.has(name.toLowerCase()));

const METHOD = /^(GET|POST|PATCH|PUT|DELETE|HEAD|OPTIONS)$/;
const HEADER_NAME = /^[!#$%&'*+.^_`|~\w-]+$/;
const HEADER_VALUE = /^[\t\x20-\x7e]{0,500}$/;
const FRAMING_HEADERS = new Set(["content-length", "transfer-encoding", "connection", "upgrade", "expect", "te", "trailer"]);

// The bytes of the request, split into writes. `fill` inserts values that are known only at run time.
export function renderRequest(plan: RequestPlan, fill: (text: string) => string): string[] {
  const { method, target, version, headers, body, framing } = plan;
  const lines = headers.map(([name, value]) => `${name}: ${value}`);
  const size = body?.length ?? 0;
  const named = (value: string | number) => `content-length: ${value}`;
  const framingLines: Record<RequestPlan["framing"], string[]> = {
    length: [named(size)],
    chunked: ["transfer-encoding: chunked"],
    none: [],
    short: [named(Math.max(0, size - 3))],
    long: [named(size + 7)],
    both: [named(size), "transfer-encoding: chunked"],
    odd: [named(size), named(size + 1)],
  };
  const chunked = framing === "chunked" || framing === "both";
  const content = body === null ? "" : chunked ? `${size.toString(16)}\r\n${body}\r\n0\r\n\r\n` : body;
  const head = [`${method} ${target} ${version}`, ...lines, ...(body === null ? [] : framingLines[framing])].join("\r\n");
  const whole = applyDamage(fill(`${head}\r\n\r\n`) + content, plan.damage);
  return cut(whole.repeat(plan.copies + 1), plan.cuts);
}

export function cut(text: string, places: readonly number[]): string[] {
  const ends = places.map((place) => Math.floor(place * text.length)).toSorted((a, b) => a - b);
  return [...ends, text.length].map((end, index) => text.slice(index === 0 ? 0 : ends[index - 1], end)).filter((piece) => piece !== "");
}
