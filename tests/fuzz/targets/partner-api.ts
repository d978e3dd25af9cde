import fc from "fast-check";
import { Compile } from "typebox/compile";
import { ErrorBody, ROUTES, type Route } from "@berth/contract";
import { strangers, type BerthWorld } from "../berth-world.ts";
import { anyMethod, flaws, headerLists, type RequestPlan } from "../traffic/requests.ts";
import { valuesOf } from "../traffic/schema-values.ts";
import type { Finding } from "../target.ts";
import { anyText, fieldText, mostly, seldom, utf8 } from "../traffic/values.ts";
import { rawRequests, type Answered } from "./raw-requests.ts";

// A hostile caller of the partner API, with or without a key.
export const partnerApi = (world: BerthWorld) => rawRequests({ name: "partner API", plan: apiRequest, workers: 64, fillIn, judge }, world);

function fillIn(text: string, { berth, otherKey, sessions }: BerthWorld): string {
  return text
    .replaceAll("$KEY", berth.key)
    .replaceAll("$OTHER_KEY", otherKey)
    .replaceAll("$SESSION", sessions.gateway.sessionId)
    .replaceAll("$STRANGER", strangers.session)
    .replaceAll("$WEBHOOK", strangers.webhook)
    .replaceAll("$DELIVERY", strangers.delivery);
}

const ids = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom("$SESSION", "$STRANGER", "$WEBHOOK", "$DELIVERY") },
  { weight: 1, arbitrary: fieldText.map(encodeURIComponentSafely) },
  { weight: 1, arbitrary: fieldText.map((text) => text.replaceAll(" ", "+")) },
);

function encodeURIComponentSafely(text: string): string {
  return encodeURIComponent(text.toWellFormed());
}

// The routes of the contract's table, so that new routes are fuzzed automatically. Routes that would end a session of the run
// use other sessions.
const ENDING = /^(DELETE|POST) .*\/sessions\/\{id\}(\/(pause|resume))?$/;

function requestsOf(route: Route): fc.Arbitrary<RequestPlan> {
  const isEnding = ENDING.test(`${route.method} ${route.path}`);
  const own = isEnding ? ids.filter((id) => id !== "$SESSION") : ids;
  const parameters = route.path.match(/\{\w+\}/g) ?? [];
  const path = fc
    .tuple(...parameters.map(() => own))
    .map((values) => values.reduce((made, value) => made.replace(/\{\w+\}/, () => value), route.path));
  const names = (route.query ?? []).filter((parameter) => parameter.in === "query").map(({ name }) => name);
  const pair = fc
    .tuple(mostly(fc.constantFrom("limit", "cursor", "metadata.a", ...names), fieldText), fieldText)
    .map(([name, value]) => `${encodeURIComponentSafely(name)}=${encodeURIComponentSafely(value)}`);
  const query = seldom(
    fc.oneof({ weight: 4, arbitrary: pair }, { weight: 1, arbitrary: fieldText.map((text) => text.replaceAll(" ", "%20")) }),
    2,
  );
  const body: fc.Arbitrary<string | null> = route.body
    ? fc.oneof(
        { weight: 8, arbitrary: valuesOf(route.body.schema).map((value) => utf8(JSON.stringify(value) ?? "")) },
        { weight: 1, arbitrary: anyText },
        { weight: 1, arbitrary: fc.constant(null) },
      )
    : seldom(anyText).map(([text]) => text ?? null);
  return fc.record({
    method: mostly(fc.constant<string>(route.method), anyMethod, 15),
    target: fc.tuple(path, query).map(([made, pairs]) => (pairs.length === 0 ? made : `${made}?${pairs.join("&")}`)),
    headers: headerLists(ownHeaders),
    body,
    ...flaws,
  });
}

const credentials: fc.Arbitrary<[string, string][]> = fc.oneof(
  { weight: 10, arbitrary: fc.constant<[string, string][]>([["authorization", "Bearer $KEY"]]) },
  { weight: 3, arbitrary: fc.constant<[string, string][]>([["x-api-key", "$KEY"]]) },
  { weight: 1, arbitrary: fc.constant<[string, string][]>([["x-api-key", "$OTHER_KEY"]]) },
  { weight: 1, arbitrary: fc.constant<[string, string][]>([]) },
  { weight: 1, arbitrary: fieldText.map((text): [string, string][] => [["authorization", text]]) },
);
const ownHeaders = fc
  .tuple(credentials, mostly(fc.constant("application/json"), fc.constantFrom("text/plain", "application/json;charset=x"), 20))
  .map(([list, type]): [string, string][] => [["host", "localhost"], ...list, ["content-type", type]]);

const elsewhere = fc.record({
  method: anyMethod,
  target: fc.oneof(
    fc.constantFrom(
      "/",
      "*",
      "//",
      "/docs",
      "/healthz",
      "/readyz",
      "/metrics",
      "/api/b2b/../b2b/sessions",
      "http://localhost/api/b2b/docs",
    ),
    fieldText.map((text) => `/${text.replaceAll(" ", "%20")}`),
  ),
  headers: headerLists(ownHeaders),
  body: seldom(anyText).map(([text]) => text ?? null),
  ...flaws,
});

const apiRequest: fc.Arbitrary<RequestPlan> = fc.oneof(
  ...Object.values<Route>(ROUTES).map((route) => ({ weight: 2, arbitrary: requestsOf(route) })),
  { weight: 2, arbitrary: elsewhere },
);

const isErrorBody = Compile(ErrorBody);
// Errors of the contract for a server that is busy or has lost a sandbox.
const ALLOWED_5XX = new Set([502, 503, 504]);

function judge({ answer: { status, headers, body }, isWhole }: Answered, { isHead }: { isHead: boolean }): Finding | undefined {
  const code = headers.get("x-error-code") ?? "no code";
  if (status >= 500 && !ALLOWED_5XX.has(status)) return { kind: "5xx", sentence: `${status} ${code}` };
  if (status < 400 || isHead || !isWhole) return undefined;
  if (!headers.has("x-request-id")) return { kind: "wrong answer", sentence: `${status} without X-Request-Id` };
  return isErrorBody.Check(parse(body)) ? undefined : { kind: "wrong answer", sentence: `${status} ${code} without the error body` };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
