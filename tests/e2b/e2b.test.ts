import { createHash } from "node:crypto";
import { request as httpRequest } from "node:http";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { shareBerth, type SharedBerth } from "../support/servers/shared-berth.ts";
import { createWire, envelope, eventOf, zipped, type ProcessMessage, type Wire, type WireSandbox } from "./wire-client.ts";

let berth: SharedBerth;
let wire: Wire;
let box: WireSandbox;
beforeAll(async () => {
  berth = await shareBerth();
  wire = createWire(berth.url, berth.key);
  box = await wire.create({ metadata: { app: "shop & co" }, envVars: { FRUIT: "fig" } });
});
afterAll(() => wire.api("DELETE", `/sandboxes/${box.id}`));

const events = (messages: { json: never }[]): ProcessMessage[] => messages.map(({ json }) => eventOf(json));
const start = (args: string[], more = {}) => ({ process: { cmd: "/bin/bash", args }, ...more });
const pidOf = (messages: { json: never }[]) => events(messages)[0]?.start?.pid ?? 0;

describe("commands", () => {
  test("run in the home, with the environment of the sandbox, and report their output and end", async () => {
    const seen = events(await box.stream("process.Process/Start", start(["-l", "-c", "pwd; echo $FRUIT >&2; exit 3"], { stdin: false })));
    expect(seen[0]).toEqual({ start: { pid: expect.any(Number) as number } });
    const text = (stream: "stdout" | "stderr") => seen.map(({ data }) => Buffer.from(data?.[stream] ?? "", "base64").toString()).join("");
    expect({ stdout: text("stdout"), stderr: text("stderr") }).toEqual({ stdout: "/home/user\n", stderr: "fig\n" });
    expect(seen.find(({ end }) => end)?.end).toEqual({ exitCode: 3, exited: true, status: "exit status 3" });
  });

  test("go on without their caller, take input, are listed, followed and killed", async () => {
    const isStarted = ({ json }: { json: never }) => eventOf(json).start !== undefined;
    const pid = pidOf(await box.stream("process.Process/Start", start(["-c", "cat"], { tag: "cat" }), isStarted));
    const { processes } = (await box.unary("process.Process/List")).json as { processes: { pid: number; tag: string }[] };
    expect(processes.find((process) => process.pid === pid)).toMatchObject({
      tag: "cat",
      config: { cmd: "/bin/bash", args: ["-c", "cat"] },
    });
    const following = box.stream("process.Process/Connect", { process: { pid } }, ({ json }) => eventOf(json).data !== undefined);
    // The follower gets what comes after it, so the input is sent until it does.
    let hasSeen = false;
    void following.then(() => (hasSeen = true));
    const input = { process: { tag: "cat" }, input: { stdin: Buffer.from("hi\n").toString("base64") } };
    await expect.poll(async () => (await box.unary("process.Process/SendInput", input), hasSeen)).toBe(true);
    expect((await box.unary("process.Process/SendSignal", { process: { pid }, signal: "SIGNAL_SIGKILL" })).status).toBe(200);
    const again = () => box.unary("process.Process/SendSignal", { process: { pid }, signal: "SIGNAL_SIGKILL" });
    await expect.poll(async () => (await again()).json).toMatchObject({ code: "not_found" });
  });

  test("have a terminal that can be resized", async () => {
    const pty = { pty: { size: { cols: 80, rows: 24 } } };
    const started = box.stream("process.Process/Start", start(["-c", "read line; stty size"], pty));
    const tagged = async () =>
      ((await box.unary("process.Process/List")).json as { processes: { pid: number }[] }).processes.at(-1)?.pid ?? 0;
    await expect.poll(tagged).toBeGreaterThan(0);
    const process = { pid: await tagged() };
    await box.unary("process.Process/Update", { process, pty: { size: { cols: 100, rows: 30 } } });
    await box.unary("process.Process/SendInput", { process, input: { pty: Buffer.from("\n").toString("base64") } });
    const output = events(await started).map(({ data }) => Buffer.from(data?.pty ?? "", "base64").toString());
    expect(output.join("")).toContain("30 100");
  });
});

describe("files", () => {
  const fs = (call: string, body: object) => box.unary(`filesystem.Filesystem/${call}`, body);

  test("are uploaded as forms, bytes and gzip, and downloaded, with metadata", async () => {
    const form = new FormData();
    form.append("file", new Blob(["one"]), "up/one.txt");
    form.append("file", new Blob(["two"]), "/home/user/up/two.txt");
    const uploaded = await box.fetch("/files", { method: "POST", body: form, headers: { "x-metadata-author": "me" } });
    expect(uploaded.json).toEqual([
      { name: "one.txt", path: "/home/user/up/one.txt", type: "file", metadata: { author: "me" } },
      { name: "two.txt", path: "/home/user/up/two.txt", type: "file", metadata: { author: "me" } },
    ]);
    const headers = { "content-type": "application/octet-stream", "content-encoding": "gzip" };
    await box.fetch("/files?path=up/zipped.txt", { method: "POST", body: zipped("three"), headers });
    expect((await box.fetch("/files?path=up/zipped.txt")).text).toBe("three");
    expect((await fs("Stat", { path: "up/one.txt" })).json).toMatchObject({
      entry: { type: "FILE_TYPE_FILE", size: "3", permissions: "-rw-r--r--", owner: "user", metadata: { author: "me" } },
    });
    expect((await box.fetch("/files?path=absent")).json).toMatchObject({ code: 404 });
    expect((await box.fetch("/files?path=up")).json).toMatchObject({ code: 400 });
  });

  test("are listed, made, moved, removed and watched", async () => {
    expect((await fs("MakeDir", { path: "tree/inner" })).json).toMatchObject({ entry: { path: "/home/user/tree/inner" } });
    expect((await fs("MakeDir", { path: "tree/inner" })).json).toMatchObject({ code: "already_exists" });
    const { watcherId } = (await fs("CreateWatcher", { path: "tree", recursive: true })).json as { watcherId: string };
    const isWrite = ({ json }: { json: never }) => (json as { filesystem?: { type: string } }).filesystem?.type === "EVENT_TYPE_WRITE";
    let isWatching = false;
    const watching = box.stream("filesystem.Filesystem/WatchDir", { path: "tree", includeEntry: true }, (message) => {
      isWatching = true;
      return isWrite(message);
    });
    await expect.poll(() => isWatching).toBe(true);
    await box.fetch("/files?path=tree/a.txt", { method: "POST", body: "a", headers: { "content-type": "application/octet-stream" } });
    expect((await watching).at(-1)?.json).toMatchObject({ filesystem: { name: "a.txt", entry: { path: "/home/user/tree/a.txt" } } });
    const polled = (await fs("GetWatcherEvents", { watcherId })).json as { events: { name: string; type: string }[] };
    expect(polled.events).toContainEqual({ name: "a.txt", type: "EVENT_TYPE_CREATE" });
    expect((await fs("RemoveWatcher", { watcherId })).status).toBe(200);
    expect((await fs("Move", { source: "tree/a.txt", destination: "tree/inner/b.txt" })).status).toBe(200);
    const { entries } = (await fs("ListDir", { path: "tree", depth: 2 })).json as { entries: { path: string }[] };
    expect(entries.map(({ path }) => path)).toEqual(["/home/user/tree/inner", "/home/user/tree/inner/b.txt"]);
    for (let i = 0; i < 2; i++) expect((await fs("Remove", { path: "tree" })).status).toBe(200);
    expect((await fs("Stat", { path: "tree" })).json).toMatchObject({ code: "not_found" });
  });

  test("have signed URLs, which lose the path of the API", async () => {
    await box.fetch("/files?path=signed.txt", { method: "POST", body: "s", headers: { "content-type": "application/octet-stream" } });
    const get = async (operation: string, expiration?: number) => {
      const text = ["signed.txt", operation, "", box.token, ...(expiration === undefined ? [] : [expiration])].join(":");
      const signature = `v1_${createHash("sha256").update(text).digest("base64").replace(/=+$/, "")}`;
      const query = new URLSearchParams({ path: "signed.txt", signature });
      if (expiration !== undefined) query.set("signature_expiration", String(expiration));
      const response = await fetch(`${berth.url}/files?${query.toString()}`);
      return { status: response.status, text: await response.text() };
    };
    expect(await get("read")).toEqual({ status: 200, text: "s" });
    expect(await get("read", Math.floor(Date.now() / 1000) + 60)).toEqual({ status: 200, text: "s" });
    expect(await get("read", 1)).toEqual({ status: 401, text: JSON.stringify({ code: 401, message: "signature is already expired" }) });
    expect((await get("write")).status).toBe(401);
  });
});

describe("sandboxes", () => {
  test("are sessions of the partner: described, listed, extended, and seen in the partner API", async () => {
    const info = (await wire.api("GET", `/sandboxes/${box.id}`)).json as { metadata: object; endAt: string };
    expect(info).toMatchObject({
      metadata: { app: "shop & co" },
      state: "running",
      lifecycle: { onTimeout: "kill" },
      domain: new URL(berth.url).host,
    });
    expect(JSON.stringify(info)).not.toContain(box.token);
    const list = async (query: string) =>
      ((await wire.api("GET", `/v2/sandboxes?${query}`)).json as { sandboxID: string }[]).map(({ sandboxID }) => sandboxID);
    const metadata = encodeURIComponent(new URLSearchParams({ app: encodeURIComponent("shop & co") }).toString());
    expect(await list(`metadata=${metadata}&state=running&limit=1`)).toEqual([box.id]);
    expect(await list("state=paused")).toEqual([]);
    expect(await list("template=unknown")).toEqual([]);
    expect(await list(`order=asc&startedAfter=${new Date(Date.now() + 60_000).toISOString()}`)).toEqual([]);
    expect((await wire.api("POST", `/sandboxes/${box.id}/timeout`, { timeout: 600 })).status).toBe(204);
    const later = (await wire.api("GET", `/sandboxes/${box.id}`)).json as { endAt: string };
    expect(Date.parse(later.endAt)).toBeGreaterThan(Date.parse(info.endAt));
    const own = (await berth.api.call("GET", "/api/b2b/sessions?externalUserId=e2b&expand=details")).body as { data: object[] };
    expect(own.data).toContainEqual(expect.objectContaining({ sandboxId: box.id, onTimeout: "destroy" }));
    const [metric] = (await wire.api("GET", `/sandboxes/${box.id}/metrics`)).json as object[];
    expect(metric).toMatchObject({ cpuCount: expect.any(Number) as number, memTotal: expect.any(Number) as number });
  });

  test("are paused, answer as gone meanwhile, and go on where they were", async () => {
    expect((await box.fetch("/health")).status).toBe(204);
    expect((await wire.api("POST", `/sandboxes/${box.id}/pause`, {})).status).toBe(204);
    expect((await wire.api("POST", `/sandboxes/${box.id}/pause`, {})).json).toMatchObject({ code: 409 });
    expect((await box.fetch("/health")).json).toEqual({ sandboxId: box.id, message: "The sandbox was not found", code: 502 });
    expect((await wire.api("POST", `/v2/sandboxes/${box.id}/connect`, {})).status).toBe(201);
    expect((await wire.api("POST", `/v2/sandboxes/${box.id}/connect`, {})).status).toBe(200);
    expect(await box.run("cat signed.txt")).toEqual({ stdout: "s", exitCode: 0 });
  });

  test("are copied: as a snapshot, and as forks", async () => {
    const taken = (await wire.api("POST", `/sandboxes/${box.id}/snapshots`, { name: "kept" })).json as { snapshotID: string };
    const listed = (await wire.api("GET", `/snapshots?sandboxID=${box.id}`)).json;
    expect(listed).toEqual([{ snapshotID: taken.snapshotID, names: ["kept"] }]);
    const copy = await wire.create({ templateID: taken.snapshotID });
    expect((await copy.run("cat signed.txt")).stdout).toBe("s");
    expect((await wire.api("DELETE", `/sandboxes/${copy.id}`)).status).toBe(204);
    expect((await wire.api("DELETE", `/templates/${taken.snapshotID}`)).status).toBe(204);
    expect((await wire.api("DELETE", `/templates/${taken.snapshotID}`)).json).toMatchObject({ code: 404 });
    const [fork] = (await wire.api("POST", `/sandboxes/${box.id}/fork`, { count: 1 })).json as { sandbox: never }[];
    const forked = wire.sandbox(fork!.sandbox);
    expect((await forked.run("cat signed.txt")).stdout).toBe("s");
    await wire.api("DELETE", `/sandboxes/${forked.id}`);
  });

  test("show their web servers to everyone or, if they are private, with the traffic token", async () => {
    const created = await wire.api("POST", "/v2/sandboxes", { templateID: "base", timeout: 60, network: { allowPublicTraffic: false } });
    const { trafficAccessToken } = created.json as { trafficAccessToken: string };
    const closed = wire.sandbox(created.json);
    const serve =
      "mkdir -p web && cd web && (python3 -m http.server 8123 > /dev/null 2>&1 &) ; until echo > /dev/tcp/127.0.0.1/8123; do sleep 0.05; done 2> /dev/null";
    await Promise.all([box.run(serve), closed.run(serve)]);
    const get = (id: string, headers = {}) => visit(`8123-${id}.${new URL(berth.url).host}`, headers);
    expect(await get(box.id)).toBe(200);
    expect(await get(closed.id)).toBe(403);
    expect(await get(closed.id, { "e2b-traffic-access-token": "forged" })).toBe(403);
    expect(await get(closed.id, { "e2b-traffic-access-token": trafficAccessToken })).toBe(200);
    await wire.api("DELETE", `/sandboxes/${closed.id}`);
    expect(await get(closed.id, { "e2b-traffic-access-token": trafficAccessToken })).toBe(502);
    // A session of the partner API stays as private as it was.
    const { sandboxId, sessionId } = await berth.api.create({ autoStartAgent: false });
    expect(await get(sandboxId)).toBe(401);
    await berth.api.call("DELETE", `/api/b2b/sessions/${sessionId}`);
  });

  test("have another network at once when it is changed, and that of the template without rules", async () => {
    const ask = async () => (await box.run("curl -s --max-time 5 http://nowhere.invalid/")).stdout;
    const change = async (network: object) => (await wire.api("PUT", `/sandboxes/${box.id}/network`, network)).status;
    expect(await change({ allow_internet_access: false })).toBe(204);
    expect(await ask()).toContain("no network access");
    expect((await wire.api("GET", `/sandboxes/${box.id}`)).json).toMatchObject({ allowInternetAccess: false });
    expect(await change({ denyOut: ["0.0.0.0/0"], allowOut: ["else.where"] })).toBe(204);
    expect(await ask()).toContain("not an allowed host");
    expect(await change({})).toBe(204);
    expect(await ask()).not.toMatch(/no network access|not an allowed host/);
    expect(await change({ denyOut: ["8.8.8.8"] })).toBe(501);
  });

  test("say in E2B's shape what Berth does not have, and what does not exist", async () => {
    const refused = async (body: object) => (await wire.api("POST", "/v2/sandboxes", body)).json;
    expect(await refused({ templateID: "absent" })).toEqual({ code: 404, message: "template 'absent' not found" });
    expect(await refused({ templateID: "base", iam: { tokens: {} } })).toMatchObject({ code: 501 });
    expect(await refused({ templateID: "base", network: { denyOut: ["8.8.8.8"] } })).toMatchObject({ code: 501 });
    expect(await refused({ templateID: "base", metadata: { long: "x".repeat(600) } })).toMatchObject({ code: 400 });
    expect((await wire.api("GET", "/v3/templates")).json).toMatchObject({
      code: 501,
      message: expect.stringContaining("not supported by Berth") as string,
    });
    const asRoot = await box.fetch("/files?path=x&username=root");
    expect(asRoot.json).toMatchObject({ code: 501 });
    expect((await createWire(berth.url, "berth_0").api("GET", "/v2/sandboxes")).json).toEqual({ code: 401, message: "Unauthorized" });
  });
});

describe("a hostile caller", () => {
  test("reaches no sandbox of another partner, in no call", async () => {
    const other = await shareBerth();
    const stranger = createWire(other.url, other.key);
    const calls: [string, string, object?][] = [
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
    for (const [method, path, body] of calls)
      expect([path, (await stranger.api(method, `/sandboxes/${box.id}${path}`, body)).json]).toMatchObject([path, { code: 404 }]);
    expect((await stranger.api("GET", "/v2/sandboxes")).json).toEqual([]);
    expect((await stranger.api("GET", `/snapshots?sandboxID=${box.id}`)).json).toMatchObject({ code: 404 });
    for (const token of ["", "forged", `${box.token}x`, box.token.slice(1)]) {
      const forged = stranger.sandbox({ sandboxID: box.id, envdAccessToken: token });
      expect((await forged.fetch("/files?path=signed.txt")).status).toBe(401);
      expect((await forged.unary("process.Process/List")).json).toMatchObject({ code: "unauthenticated" });
      expect((await forged.stream("process.Process/Start", start(["-c", "true"]))).at(-1)?.json).toMatchObject({
        error: { code: "unauthenticated" },
      });
    }
    const forgedUrl = `${berth.url}/files?path=signed.txt&signature=v1_${"A".repeat(43)}`;
    const statuses = await Promise.all(Array.from({ length: 120 }, async () => (await fetch(forgedUrl)).status));
    expect(new Set(statuses)).toEqual(new Set([401, 429]));
  });

  test("is refused for envelopes that lie about their length, and for bodies without an end", async () => {
    const send = (body: Uint8Array<ArrayBuffer> | ReadableStream, type = "application/connect+json") =>
      box.fetch("/process.Process/Start", { method: "POST", body, headers: { "content-type": type }, duplex: "half" } as RequestInit);
    const message = start(["-c", "true"]);
    for (const body of [
      envelope(message, { length: 4 }),
      envelope(message, { length: 2 ** 32 - 1 }),
      new Uint8Array([0, 0]),
      envelope(message, { flags: 9 }),
    ])
      expect((await send(body)).text).toContain("invalid_argument");
    expect((await send(envelope(message, { flags: 1 }))).text).toContain("unimplemented");
    expect((await send(new Uint8Array([0, 0, 0, 0, 1, 123]))).text).toContain("invalid_argument");
    expect((await send(envelope(message), "application/connect+proto")).text).toContain("invalid_argument");
    const endless = new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(1024 * 1024)) });
    const answer = await send(endless).catch((error: unknown) => ({ text: String(error) }));
    expect(answer.text).toMatch(/resource_exhausted|fetch failed/);
    for (const type of ["multipart/form-data", "multipart/form-data; boundary=x", "text/plain"])
      expect((await box.fetch("/files?path=x", { method: "POST", body: "--y\r\n", headers: { "content-type": type } })).json).toMatchObject(
        { code: 400 },
      );
    const broken = { "content-type": "application/octet-stream", "content-encoding": "gzip" };
    expect((await box.fetch("/files?path=x", { method: "POST", body: "no gzip", headers: broken })).status).toBeGreaterThanOrEqual(400);
    expect((await box.run("echo alive")).stdout).toBe("alive\n");
  });
});

// Node resolves no names below localhost, so the name is only in the header.
function visit(host: string, headers: Record<string, string>): Promise<number> {
  const { port } = new URL(berth.url);
  return new Promise((resolve, reject) => {
    const request = httpRequest({ host: "127.0.0.1", port, path: "/", headers: { host, ...headers } }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    request.once("error", reject);
    request.end();
  });
}
