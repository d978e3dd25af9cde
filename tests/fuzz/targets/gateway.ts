import fc from "fast-check";
import { strangers, type BerthWorld } from "../berth-world.ts";
import { anyMethod, flaws, headerLists, type RequestPlan } from "../traffic/requests.ts";
import type { Finding } from "../target.ts";
import { anyText, fieldText, mostly, seldom } from "../traffic/values.ts";
import { rawRequests, type Answered } from "./raw-requests.ts";

// A hostile browser: launch links, cookies, the daemon's API behind them, previews and WebSockets.
export const gateway = (world: BerthWorld) => rawRequests({ name: "gateway", plan: gatewayRequest, workers: 32, fillIn, judge }, world);

function fillIn(text: string, { berth, otherKey, sessions, cookie, launchQuery }: BerthWorld): string {
  const { sandboxId } = sessions.gateway;
  return text
    .replaceAll("$KEY", berth.key)
    .replaceAll("$OTHER_KEY", otherKey)
    .replaceAll("$SANDBOX", sandboxId)
    .replaceAll("$STRANGER", strangers.sandbox)
    .replaceAll("$COOKIE", cookie)
    .replaceAll("$LAUNCH", launchQuery)
    .replaceAll("$ORIGIN", berth.url)
    .replaceAll("$PREVIEW", `3000-${sandboxId.replace("_", "-")}.${new URL(berth.url).host}`);
}

const DAEMON_PATHS = [
  "/health",
  "/exec",
  "/files/content?path=a",
  "/files/list?path=.",
  "/terminals",
  "/terminals/x/socket",
  "/search?q=a",
  "/ports",
  "/ports/80/x",
  "/internal/start",
  "/agent/socket",
];
const daemonPath = mostly(
  fc.constantFrom(...DAEMON_PATHS),
  fieldText.map((text) => `/${text.replaceAll(" ", "%20")}`),
);
const sandbox = mostly(
  fc.constant("$SANDBOX"),
  fc.oneof(
    fc.constant("$STRANGER"),
    fieldText.map((text) => text.replaceAll(" ", "%20")),
  ),
);

const target = fc.oneof(
  { weight: 4, arbitrary: fc.tuple(sandbox, daemonPath).map(([id, path]) => `/sandboxes/${id}${path}`) },
  { weight: 4, arbitrary: fc.tuple(sandbox, daemonPath).map(([id, path]) => `/workspace/${id}/api${path}`) },
  {
    weight: 2,
    arbitrary: fc
      .tuple(sandbox, fc.constantFrom("", "/", "/session", "/session/stream", "/preview"))
      .map(([id, path]) => `/workspace/${id}${path}`),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      "/workspace/$LAUNCH",
      "/workspace/$LAUNCH&x=1",
      "/workspace/",
      "/workspace/assets/index.js",
      "/workspace/..%2f..%2fetc",
    ),
  },
  {
    weight: 2,
    arbitrary: fc
      .tuple(fieldText, fieldText, fieldText, fieldText)
      .map(
        (values) =>
          `/workspace/?${["s", "partner", "ts", "sig"].map((name, index) => `${name}=${encodeURIComponent(values[index]!.toWellFormed())}`).join("&")}`,
      ),
  },
  { weight: 1, arbitrary: fc.constantFrom("/", "/x?y", "/.berth/open", "/.berth/open?partner=a&expires=1&path=/&sig=x") },
);

const HANDSHAKE: [string, string][] = [
  ["connection", "Upgrade"],
  ["upgrade", "websocket"],
  ["sec-websocket-version", "13"],
  ["sec-websocket-key", "AAAAAAAAAAAAAAAAAAAAAA=="],
];

const headers = fc
  .tuple(
    mostly(fc.constant("localhost"), fc.constantFrom("$PREVIEW", "$PREVIEW:1", "0-x.localhost", ""), 3),
    fc.oneof(
      { weight: 4, arbitrary: fc.constant<[string, string][]>([["x-api-key", "$KEY"]]) },
      { weight: 4, arbitrary: fc.constant<[string, string][]>([["cookie", "$COOKIE"]]) },
      { weight: 1, arbitrary: fc.constant<[string, string][]>([["x-api-key", "$OTHER_KEY"]]) },
      { weight: 1, arbitrary: fieldText.map((text): [string, string][] => [["cookie", text]]) },
      { weight: 1, arbitrary: fc.constant<[string, string][]>([]) },
    ),
    mostly(fc.constant<[string, string][]>([["origin", "$ORIGIN"]]), fc.constantFrom<[string, string][]>([["origin", "null"]], [])),
    mostly(fc.constant<[string, string][]>([]), fc.constant(HANDSHAKE), 5),
  )
  .map(([host, credentials, origin, handshake]): [string, string][] => [["host", host], ...credentials, ...origin, ...handshake]);

const gatewayRequest: fc.Arbitrary<RequestPlan> = fc.record({
  method: mostly(fc.constantFrom("GET", "GET", "POST", "PUT", "DELETE", "HEAD"), anyMethod, 10),
  target,
  headers: headerLists(headers),
  body: seldom(fc.oneof(anyText, fc.constant('{"port":3000,"path":"/"}'), fc.constant("\x82\x80\0\0\0\0"))).map(([text]) => text ?? null),
  ...flaws,
});

function judge({ answer }: Answered): Finding | undefined {
  const { status, headers: answered, body } = answer;
  return status === 500 ? { kind: "5xx", sentence: `500 ${answered.get("x-error-code") ?? body.slice(0, 100)}` } : undefined;
}
