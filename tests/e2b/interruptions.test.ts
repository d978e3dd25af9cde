import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startBerth, type Berth } from "../support/servers/berth.ts";
import { createWire, eventOf, type Wire, type WireSandbox } from "./wire-client.ts";

// A pause, a destroy or the death of the server in the middle of every kind of call of the E2B API: no call hangs, and files and
// programs are as they would be after the same interruption of our own API.

let berth: Berth;
let wire: Wire;
beforeAll(async () => {
  berth = await startBerth();
  wire = createWire(berth.url, berth.key);
});
afterAll(() => berth[Symbol.asyncDispose]());

const LARGE_MIB = 64;
// So many chunks of the upload are sent before the interruption.
const CHUNKS = 3;
const OCTETS = { "content-type": "application/octet-stream" };

interface Interrupted {
  box: WireSandbox;
  pid: number;
  // Whether each call has ended well; "open" until then.
  outcomes: Record<string, "open" | "answered" | "failed">;
  // The download waits for this before it reads on.
  readOn(): void;
}

// A sandbox with a call of every kind that is not over.
async function openCalls(): Promise<Interrupted> {
  const box = await wire.create();
  const outcomes: Interrupted["outcomes"] = {};
  const begin = (name: string, call: Promise<unknown>) => {
    outcomes[name] = "open";
    call.then(
      () => (outcomes[name] = "answered"),
      () => (outcomes[name] = "failed"),
    );
  };
  await box.run(`mkdir watched; truncate -s ${LARGE_MIB}M large`);
  let pid = 0;
  let watches = false;
  const sleep = { process: { cmd: "/bin/sleep", args: ["600"] }, stdin: false };
  begin(
    "command",
    box.stream("process.Process/Start", sleep, ({ json }) => ((pid = eventOf(json).start?.pid ?? pid), false)),
  );
  begin(
    "watch",
    box.stream("filesystem.Filesystem/WatchDir", { path: "watched" }, () => ((watches = true), false)),
  );
  await expect.poll(() => pid > 0 && watches).toBe(true);
  let follows = false;
  begin(
    "follower",
    box.stream("process.Process/Connect", { process: { pid } }, () => ((follows = true), false)),
  );
  let sent = 0;
  const body = new ReadableStream({
    // Without an end, so that only the interruption ends the upload.
    pull: (controller) => (sent++ > CHUNKS ? new Promise(() => {}) : controller.enqueue(new Uint8Array(1024))),
  });
  begin("upload", box.fetch("/files?path=upload", { method: "POST", body, headers: OCTETS, duplex: "half" } as RequestInit).then(refused));
  const interruption = Promise.withResolvers<void>();
  const reading = Promise.withResolvers<void>();
  begin("download", readLarge(box, reading.resolve, interruption.promise));
  await Promise.all([reading.promise, expect.poll(() => follows && sent > CHUNKS).toBe(true)]);
  return { box, pid, outcomes, readOn: interruption.resolve };
}

function refused({ status }: { status: number }): void {
  if (status >= 400) throw new Error(`answered ${status}`);
}

// Reads the first bytes, and the rest after the interruption.
async function readLarge(box: WireSandbox, onFirst: () => void, interruption: Promise<void>): Promise<void> {
  const response = await fetch(`${berth.url}/e2b/envd/files?path=large`, {
    headers: { "e2b-sandbox-id": box.id, "x-access-token": box.token },
  });
  let bytes = 0;
  for await (const chunk of response.body!) {
    bytes += chunk.length;
    onFirst();
    await interruption;
  }
  if (bytes < LARGE_MIB * 1024 * 1024) throw new Error("cut off");
}

const isListed = async (box: WireSandbox, pid: number) => {
  const { processes } = (await box.unary("process.Process/List")).json as { processes: { pid: number }[] };
  return processes.some((process) => process.pid === pid);
};
const allEnd = ({ outcomes, readOn }: Interrupted) => {
  readOn();
  return expect.poll(() => Object.values(outcomes), { timeout: 15_000 }).not.toContain("open");
};

describe("a call of the E2B API ends", () => {
  test("if its sandbox is paused, and its programs go on afterwards", async () => {
    const calls = await openCalls();
    const { box, pid } = calls;
    expect((await wire.api("POST", `/sandboxes/${box.id}/pause`, {})).status).toBe(204);
    await allEnd(calls);
    expect((await box.fetch("/health")).status).toBe(502);
    expect((await wire.api("POST", `/v2/sandboxes/${box.id}/connect`, {})).status).toBe(201);
    expect(await isListed(box, pid)).toBe(true);
    expect((await box.unary("filesystem.Filesystem/Stat", { path: "upload" })).json).toMatchObject({ code: "not_found" });
    await wire.api("DELETE", `/sandboxes/${box.id}`);
  });

  test("if its sandbox is destroyed, which answers as gone afterwards", async () => {
    const calls = await openCalls();
    const { box } = calls;
    expect((await wire.api("DELETE", `/sandboxes/${box.id}`)).status).toBe(204);
    await allEnd(calls);
    expect((await box.fetch("/health")).status).toBe(502);
    expect((await wire.api("GET", `/sandboxes/${box.id}`)).status).toBe(404);
  });

  test("if the server is killed, and the sandbox with its programs is there when it is back", async () => {
    const calls = await openCalls();
    const { box, pid, outcomes } = calls;
    await berth.kill();
    await allEnd(calls);
    expect(new Set(Object.values(outcomes))).toEqual(new Set(["failed"]));
    await berth.start();
    expect((await box.fetch("/health")).status).toBe(204);
    expect(await isListed(box, pid)).toBe(true);
    expect((await box.unary("filesystem.Filesystem/Stat", { path: "upload" })).json).toMatchObject({ code: "not_found" });
    expect((await wire.api("DELETE", `/sandboxes/${box.id}`)).status).toBe(204);
  });
});
