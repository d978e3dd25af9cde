import { createHash } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { shareBerth, type SharedBerth } from "../support/servers/shared-berth.ts";
import { createWire, envelope, type Wire, type WireSandbox } from "./wire-client.ts";

// A hostile caller of the E2B API.

let berth: SharedBerth;
let wire: Wire;
let box: WireSandbox;
let snapshotId: string;
let volumeId: string;
beforeAll(async () => {
  berth = await shareBerth();
  wire = createWire(berth.url, berth.key);
  box = await wire.create();
  await box.fetch("/files?path=signed.txt", { method: "POST", body: "s", headers: { "content-type": "application/octet-stream" } });
  ({ snapshotID: snapshotId } = (await wire.api("POST", `/sandboxes/${box.id}/snapshots`, {})).json as { snapshotID: string });
  ({ volumeID: volumeId } = (await wire.api("POST", "/volumes", { name: "hostile" })).json as { volumeID: string });
});
afterAll(async () => {
  await wire.api("DELETE", `/sandboxes/${box.id}`);
  await wire.api("DELETE", `/templates/${snapshotId}`);
  await wire.api("DELETE", `/volumes/${volumeId}`);
});

const start = (args: string[]) => ({ process: { cmd: "/bin/bash", args } });
const CONTROL: [string, string, object?][] = [
  ["GET", ""],
  ["DELETE", ""],
  ...["timeout", "refreshes", "connect", "pause", "resume", "fork", "snapshots"].map((call): [string, string, object] => [
    "POST",
    `/${call}`,
    {},
  ]),
  ["GET", "/metrics"],
  ["PUT", "/network", {}],
];
const PROCESS = ["List", "SendInput", "SendSignal", "CloseStdin", "Update"].map((call) => `process.Process/${call}`);
const FILESYSTEM = ["Stat", "ListDir", "MakeDir", "Move", "Remove", "CreateWatcher", "GetWatcherEvents", "RemoveWatcher"].map(
  (call) => `filesystem.Filesystem/${call}`,
);
const STREAMS = ["process.Process/Start", "process.Process/Connect", "filesystem.Filesystem/WatchDir"];

test("another partner's sandbox, snapshot and volume are not found, in every call", async () => {
  const other = await shareBerth();
  const stranger = createWire(other.url, other.key);
  const statusOf = async (method: string, path: string, body?: object) => (await stranger.api(method, path, body)).status;
  for (const [method, path, body] of CONTROL)
    expect([path, await statusOf(method, `/sandboxes/${box.id}${path}`, body)]).toEqual([path, 404]);
  expect(await statusOf("POST", `/v2/sandboxes/${box.id}/connect`, {})).toBe(404);
  expect((await stranger.api("GET", "/v2/sandboxes")).json).toEqual([]);
  expect((await stranger.api("GET", "/volumes")).json).toEqual([]);
  expect(await statusOf("GET", `/snapshots?sandboxID=${box.id}`)).toBe(404);
  expect(await statusOf("POST", "/v2/sandboxes", { templateID: snapshotId })).toBe(404);
  expect(await statusOf("DELETE", `/templates/${snapshotId}`)).toBe(404);
  expect(await statusOf("GET", `/volumes/${volumeId}`)).toBe(404);
  expect(await statusOf("DELETE", `/volumes/${volumeId}`)).toBe(404);
  const mounted = { templateID: "base", volumeMounts: [{ name: "hostile", path: "/mnt/x" }] };
  expect(await statusOf("POST", "/v2/sandboxes", mounted)).toBeGreaterThanOrEqual(400);
});

test("a forged or foreign token opens nothing, in every call", async () => {
  const own = await wire.create();
  try {
    for (const token of ["", "forged", `${box.token}x`, box.token.slice(1), own.token]) {
      const forged = wire.sandbox({ sandboxID: box.id, envdAccessToken: token });
      expect((await forged.fetch("/health")).status).toBe(401);
      expect((await forged.fetch("/files?path=signed.txt")).status).toBe(401);
      expect((await forged.fetch("/files?path=signed.txt", { method: "POST", body: "x" })).status).toBe(401);
      for (const call of [...PROCESS, ...FILESYSTEM])
        expect([call, (await forged.unary(call, { path: "/" })).json]).toMatchObject([call, { code: "unauthenticated" }]);
      for (const call of STREAMS)
        expect((await forged.stream(call, start(["-c", "true"]))).at(-1)?.json).toMatchObject({ error: { code: "unauthenticated" } });
    }
  } finally {
    await wire.api("DELETE", `/sandboxes/${own.id}`);
  }
});

test("a signed URL is for one path, one operation and one time, and forged ones are counted", async () => {
  const sign = (parts: (string | number)[]) => `v1_${createHash("sha256").update(parts.join(":")).digest("base64").replace(/=+$/, "")}`;
  const get = async (query: Record<string, string>, method = "GET") =>
    (await fetch(`${berth.url}/files?${new URLSearchParams(query).toString()}`, { method })).status;
  const late = Math.floor(Date.now() / 1000) + 60;
  const timed = sign(["signed.txt", "read", "", box.token, late]);
  expect(await get({ path: "signed.txt", signature: sign(["signed.txt", "read", "", box.token]) })).toBe(200);
  expect(await get({ path: "signed.txt", signature: timed, signature_expiration: String(late) })).toBe(200);
  expect(await get({ path: "signed.txt", signature: timed, signature_expiration: String(late + 1) })).toBe(401);
  expect(await get({ path: "signed.txt", signature: timed })).toBe(401);
  expect(await get({ path: "other.txt", signature: timed, signature_expiration: String(late) })).toBe(401);
  expect(await get({ path: "signed.txt", signature: sign(["signed.txt", "write", "", box.token]) })).toBe(401);
  expect(await get({ path: "signed.txt", signature: sign(["signed.txt", "read", "", box.token]) }, "POST")).toBe(401);
  const past = sign(["signed.txt", "read", "", box.token, 1]);
  expect(await get({ path: "signed.txt", signature: past, signature_expiration: "1" })).toBe(401);
  const forged = { path: "signed.txt", signature: `v1_${"A".repeat(43)}` };
  expect(new Set(await Promise.all(Array.from({ length: 120 }, () => get(forged))))).toEqual(new Set([401, 429]));
});

test("envelopes that lie about their length, and messages that are none, are refused", async () => {
  const send = async (body: Uint8Array<ArrayBuffer>, type = "application/connect+json") =>
    (await box.fetch("/process.Process/Start", { method: "POST", body, headers: { "content-type": type } })).text;
  const message = start(["-c", "true"]);
  for (const body of [
    envelope(message, { length: 4 }),
    envelope(message, { length: 2 ** 32 - 1 }),
    new Uint8Array([0, 0]),
    envelope(message, { flags: 9 }),
    new Uint8Array([0, 0, 0, 0, 1, 123]),
  ])
    expect(await send(body)).toContain("invalid_argument");
  expect(await send(envelope(message, { flags: 1 }))).toContain("unimplemented");
  expect(await send(envelope(message), "application/connect+proto")).toContain("invalid_argument");
  for (const type of ["multipart/form-data", "multipart/form-data; boundary=x", "text/plain"])
    expect((await box.fetch("/files?path=x", { method: "POST", body: "--y\r\n", headers: { "content-type": type } })).json).toMatchObject({
      code: 400,
    });
  const broken = { "content-type": "application/octet-stream", "content-encoding": "gzip" };
  expect((await box.fetch("/files?path=x", { method: "POST", body: "no gzip", headers: broken })).status).toBeGreaterThanOrEqual(400);
});

test("a body without an end is cut off, also one that announces 4 GiB", async () => {
  const endless = (first: Uint8Array) => {
    let isFirst = true;
    return new ReadableStream({
      pull(controller) {
        controller.enqueue(isFirst ? first : new Uint8Array(1024 * 1024));
        isFirst = false;
      },
    });
  };
  const send = (path: string, type: string, first: Uint8Array) =>
    box
      .fetch(path, { method: "POST", body: endless(first), headers: { "content-type": type }, duplex: "half" } as RequestInit)
      .catch((error: unknown) => ({ text: String(error) }));
  const announced = envelope({}, { length: 2 ** 32 - 1 });
  const answers = await Promise.all([
    send("/process.Process/Start", "application/connect+json", new Uint8Array(5)),
    send("/process.Process/Start", "application/connect+json", announced),
    send("/process.Process/List", "application/json", new Uint8Array(1)),
    send("/files", "multipart/form-data; boundary=x", new TextEncoder().encode("--x\r\n")),
  ]);
  for (const { text } of answers) expect(text).toMatch(/resource_exhausted|invalid_argument|fetch failed|cannot be read/);
  expect((await box.run("echo alive")).stdout).toBe("alive\n");
});

test("output without an end waits for its reader, and ends with the command", async () => {
  let count = 0;
  const messages = await box.stream("process.Process/Start", start(["-c", "yes"]), () => ++count > 100);
  const { pid } = (messages[0]!.json as { event: { start: { pid: number } } }).event.start;
  expect((await box.unary("process.Process/SendSignal", { process: { pid }, signal: "SIGNAL_SIGKILL" })).status).toBe(200);
  expect((await box.run("echo alive")).stdout).toBe("alive\n");
});
