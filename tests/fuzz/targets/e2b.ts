import fc from "fast-check";
import { strangers, type BerthWorld } from "../berth-world.ts";
import { anyMethod, flaws, headerLists, type RequestPlan } from "../traffic/requests.ts";
import type { Finding } from "../target.ts";
import { anyText, fieldText, mostly } from "../traffic/values.ts";
import { rawRequests, type Answered } from "./raw-requests.ts";

// A hostile client of E2B's API: envelopes that lie, forged tokens and signatures, other partners' sandboxes.
export const e2b = (world: BerthWorld) => rawRequests({ name: "e2b", plan: e2bRequest, workers: 16, fillIn, judge }, world);

function fillIn(text: string, { berth, otherKey, sessions, e2bToken }: BerthWorld): string {
  const { sandboxId } = sessions.gateway;
  return text
    .replaceAll("$KEY", berth.key)
    .replaceAll("$OTHER_KEY", otherKey)
    .replaceAll("$SANDBOX", sandboxId)
    .replaceAll("$STRANGER", strangers.sandbox)
    .replaceAll("$TOKEN", e2bToken)
    .replaceAll("$ENVD", `49983-${sandboxId}.${new URL(berth.url).host}`);
}

const STREAMS = ["process.Process/Start", "process.Process/Connect", "filesystem.Filesystem/WatchDir"];
const UNARY = [
  ...["List", "SendInput", "SendSignal", "CloseStdin", "Update", "StreamInput"].map((call) => `process.Process/${call}`),
  ...["Stat", "ListDir", "MakeDir", "Move", "Remove", "CreateWatcher", "GetWatcherEvents"].map((call) => `filesystem.Filesystem/${call}`),
];
const CALLS = ["", "/timeout", "/refreshes", "/connect", "/fork", "/metrics", "/network", "/snapshots", "/logs"];

// A delete of the real one would end the cases of all other targets.
const stranger = mostly(
  fc.constant("$STRANGER"),
  fieldText.map((text) => encodeURIComponent(text.toWellFormed())),
  3,
);
const sandbox = mostly(
  fc.constant("$SANDBOX"),
  fc.oneof(
    fc.constant("$STRANGER"),
    fieldText.map((text) => encodeURIComponent(text.toWellFormed())),
  ),
  4,
);
const query = fc.tuple(fieldText, fieldText).map(([path, signature]) => {
  const values = { path: path.toWellFormed(), signature: `v1_${signature.toWellFormed()}`, signature_expiration: "9999999999" };
  return new URLSearchParams(values).toString();
});

const target = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...STREAMS).map((call) => `/e2b/envd/${call}`) },
  { weight: 4, arbitrary: fc.constantFrom(...UNARY).map((call) => `/e2b/envd/${call}`) },
  { weight: 2, arbitrary: fc.tuple(fc.constantFrom("/files", "/e2b/envd/files"), query).map(([path, more]) => `${path}?${more}`) },
  { weight: 2, arbitrary: fc.constantFrom("/e2b/envd/health", "/e2b/envd/envs", "/e2b/envd/x", "/e2b/envd/files?path=a") },
  { weight: 2, arbitrary: fc.tuple(stranger, fc.constantFrom(...CALLS)).map(([id, call]) => `/e2b/sandboxes/${id}${call}`) },
  {
    weight: 1,
    arbitrary: fc.constantFrom("/e2b/v2/sandboxes?limit=x", "/e2b/v2/sandboxes?metadata=%25&state=a", "/e2b/snapshots", "/e2b/volumes"),
  },
  { weight: 1, arbitrary: fieldText.map((text) => `/e2b/v2/sandboxes?nextToken=${encodeURIComponent(text.toWellFormed())}`) },
);

type Header = [string, string];

const headers = fc
  .tuple(
    mostly(fc.constant("localhost"), fc.constantFrom("$ENVD", "49983-x.localhost"), 5),
    mostly(fc.constant<Header[]>([["x-access-token", "$TOKEN"]]), fc.constantFrom<Header[]>([["x-access-token", "forged"]], []), 4),
    mostly(fc.constant("$KEY"), fc.constant("$OTHER_KEY"), 4),
    sandbox,
    fc.constantFrom(
      "application/json",
      "application/connect+json",
      "multipart/form-data; boundary=x",
      "application/octet-stream",
      "application/proto",
    ),
    fc.constantFrom<Header[]>([], [["connect-timeout-ms", "50"]], [["connect-timeout-ms", "-1"]], [["keepalive-ping-interval", "0"]]),
  )
  .map(([host, token, key, id, type, more]): Header[] => [
    ["host", host],
    ...token,
    ["x-api-key", key],
    ["e2b-sandbox-id", id],
    ["content-type", type],
    ...more,
  ]);

const length = fc.oneof(fc.constantFrom(0, 1, 2 ** 31, 2 ** 32 - 1), fc.nat(200));
const enveloped = fc.tuple(fc.constantFrom(0, 0, 0, 1, 2, 255), fc.option(length), fc.json()).map(([flags, lied, json]) => {
  const claimed = lied ?? json.length;
  return String.fromCharCode(flags, claimed >>> 24, (claimed >>> 16) & 255, (claimed >>> 8) & 255, claimed & 255) + json;
});
const form = fc
  .tuple(fieldText, anyText)
  .map(([name, text]) => `--x\r\ncontent-disposition: form-data; name="file"; filename="${name}"\r\n\r\n${text}\r\n--x--`);

const e2bRequest: fc.Arbitrary<RequestPlan> = fc.record({
  method: mostly(fc.constantFrom("POST", "POST", "GET", "DELETE", "PUT"), anyMethod, 10),
  target,
  headers: headerLists(headers),
  body: fc.oneof(enveloped, fc.json(), form, anyText, fc.constant(null)),
  ...flaws,
});

function judge({ answer }: Answered): Finding | undefined {
  const { status, body } = answer;
  return status === 500 ? { kind: "5xx", sentence: `500 ${body.slice(0, 100)}` } : undefined;
}
