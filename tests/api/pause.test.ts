import { once } from "node:events";
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
    expect([...seen.keys()].filter((status) => ![200, 409, 502].includes(status))).toEqual([]);
    expect(seen.get(200)).toBeGreaterThan(0);
    // A request that is held would take until its timeout, which is twice as long.
    expect(slowestMs).toBeLessThan(15_000);
  });

  test("a pause aborts a streamed response", async () => {
    const answer = await fetch(`${session.sandboxUrl}/exec`, {
      method: "POST",
      headers: { authorization: `Bearer ${berth.key}`, "content-type": "application/json" },
      body: JSON.stringify({ command: "while true; do echo tick; sleep 0.1; done" }),
    });
    const reader = answer.body!.getReader();
    await reader.read();
    await change("pause");
    const drain = async () => {
      while (!(await reader.read()).done);
    };
    await expect(drain()).rejects.toThrow("terminated");
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
