import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import type { Session } from "@berth/contract";
import { shareBerth, type SharedBerth } from "../support/servers/shared-berth.ts";

describe("requests to a sandbox during pause and resume", () => {
  let berth: SharedBerth;
  let session: Session;

  beforeAll(async () => void (berth = await shareBerth()));
  beforeEach(async () => void (session = await berth.api.create()));
  afterEach(() => berth.api.call("DELETE", `/api/b2b/sessions/${session.sessionId}`));

  const change = (to: "pause" | "resume") => berth.api.call("POST", `/api/b2b/sessions/${session.sessionId}/${to}`);

  test("succeed or fail at once", async () => {
    const seen = new Map<number, number>();
    let slowestMs = 0;
    const until = new AbortController();
    const hammer = async () => {
      while (!until.signal.aborted) {
        const startedMs = performance.now();
        const { status } = await berth.api.call("GET", `/sandboxes/${session.sandboxId}/files`);
        seen.set(status, (seen.get(status) ?? 0) + 1);
        slowestMs = Math.max(slowestMs, performance.now() - startedMs);
      }
    };
    const hammers = [hammer(), hammer(), hammer()];
    for (let round = 0; round < 10; round++) {
      expect((await change("pause")).status).toBe(200);
      expect((await berth.api.call("GET", `/sandboxes/${session.sandboxId}/files`)).status).toBe(409);
      expect((await change("resume")).status).toBe(200);
    }
    until.abort();
    await Promise.all(hammers);
    expect([...seen.keys()].filter((status) => ![200, 409].includes(status))).toEqual([]);
    expect(seen.get(200)).toBeGreaterThan(0);
    // A request that is held would take until its timeout, which is twice as long.
    expect(slowestMs).toBeLessThan(15_000);
  });

  const exec = (command: string, options = {}, query = "") =>
    fetch(`${session.sandboxUrl}/exec${query}`, {
      method: "POST",
      headers: { authorization: `Bearer ${berth.key}`, "content-type": "application/json" },
      body: JSON.stringify({ command, ...options }),
    });

  test("a pause ends the response of a command with an error, and the command goes on after the resume", async () => {
    // More output than a pipe holds, so that a command whose output is not read would stand still.
    const response = await exec("echo started; while [ ! -e go ]; do sleep 0.1; done; head -c 1000000 /dev/zero; echo done > result");
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    expect((await reader.read()).value).toContain("started");
    expect((await change("pause")).status).toBe(200);
    let rest = "";
    for (let part = await reader.read(); !part.done; part = await reader.read()) rest += part.value;
    expect(JSON.parse(rest)).toMatchObject({ type: "error", code: "session_paused" });
    expect((await change("resume")).status).toBe(200);
    await berth.api.writeFile(session.sandboxId, "go", "");
    await expect.poll(async () => String(await berth.api.readFile(session.sandboxId, "result"))).toBe("done\n");
  });

  test("a pause does not count for the timeout of a command, and the timeout still ends it", async () => {
    const response = await exec("echo $$ > pid; echo started; sleep 600", { timeoutMs: 3_000 }, "?format=text");
    const reading = response.text();
    await expect.poll(() => berth.api.readFile(session.sandboxId, "pid")).not.toBeNull();
    await change("pause");
    expect(await reading).toContain("The session was paused");
    await sleep(3_500);
    await change("resume");
    const isAlive = async () => (await berth.api.exec(session.sandboxId, "kill -0 $(cat pid) && echo yes || echo no")).stdout.trim();
    expect(await isAlive()).toBe("yes");
    await expect.poll(isAlive, { timeout: 15_000 }).toBe("no");
  });

  test("a command that starts after a resume still ends with its connection", async () => {
    await change("pause");
    await change("resume");
    const caller = new AbortController();
    const response = await fetch(`${session.sandboxUrl}/exec`, {
      method: "POST",
      headers: { authorization: `Bearer ${berth.key}`, "content-type": "application/json" },
      body: JSON.stringify({ command: "echo $$ > pid; echo started; sleep 600" }),
      signal: caller.signal,
    });
    await response.body!.getReader().read();
    caller.abort();
    const isAlive = async () => (await berth.api.exec(session.sandboxId, "kill -0 $(cat pid) && echo yes || echo no")).stdout.trim();
    await expect.poll(isAlive).toBe("no");
  });

  test("a pause closes a WebSocket, and its terminal is available after the resume", async () => {
    const headers = { authorization: `Bearer ${berth.key}` };
    const create = await berth.api.call("POST", `/sandboxes/${session.sandboxId}/terminals`, { cols: 80, rows: 24, command: ["cat"] });
    const url = `${session.sandboxUrl.replace("http", "ws")}/terminals/${(create.body as { id: string }).id}`;
    const before = new WebSocket(url, { headers });
    await once(before, "open");
    const closed = once(before, "close");
    await change("pause");
    expect((await closed)[0]).toBe(4409);
    await change("resume");
    const after = new WebSocket(url, { headers });
    await once(after, "open");
    let echoed = "";
    after.on("message", (data: Buffer, binary) => binary && (echoed += data.toString()));
    after.send(Buffer.from("still here\n"));
    await expect.poll(() => echoed).toContain("still here");
    after.terminate();
  });
});
