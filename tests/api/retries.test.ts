import { connect } from "node:net";
import { readConfig } from "../../server/config/config.ts";
import { openDriver } from "../../server/drivers/index.ts";
import { silentLog } from "../../server/log.ts";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startBerth, type Berth } from "../support/servers/berth.ts";

// A partner that retries against a real server with real sandboxes. One idempotency key makes one sandbox, even if connections
// break or the server is killed.
let berth: Berth;
beforeAll(async () => {
  berth = await startBerth({ BERTH_DRIVER: "process", BERTH_LOG_LEVEL: "error" });
});
afterAll(() => berth?.[Symbol.asyncDispose]());

interface Listed {
  data: { sessionId: string; sandboxId: string; status: string }[];
}
const liveSandboxes = async (): Promise<string[]> => {
  const { body } = await berth.api.call("GET", "/api/b2b/sessions?status=running&limit=100");
  return (body as Listed).data.map(({ sandboxId }) => sandboxId).sort();
};

async function sandboxesOfEngine(): Promise<string[]> {
  const { config } = readConfig(berth.env);
  await using driver = await openDriver(config, silentLog);
  return (await driver.list(AbortSignal.timeout(30_000))).map(({ id }) => id).sort();
}

// Sends the request and closes the connection after a while, without waiting for the response.
async function sendAndCut(idempotencyKey: string, afterMs: number): Promise<void> {
  const body = '{"externalUserId":"user-1"}';
  const socket = connect(Number(new URL(berth.url).port), "127.0.0.1").on("error", () => {});
  socket.write(
    `POST /api/b2b/sessions HTTP/1.1\r\nHost: x\r\nX-Api-Key: ${berth.key}\r\nIdempotency-Key: ${idempotencyKey}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
  await delay(afterMs);
  socket.destroy();
}

async function createUntilDone(idempotencyKey: string): Promise<string> {
  for (;;) {
    const response = await berth.api
      .call("POST", "/api/b2b/sessions", { externalUserId: "user-1" }, { "idempotency-key": idempotencyKey })
      .catch(() => null);
    if (response?.status === 201) return (response.body as { sandboxId: string }).sandboxId;
    await delay(100);
  }
}

test("a retry after a broken connection makes no second sandbox", async () => {
  const made: string[] = [];
  for (let i = 0; i < 8; i++) {
    await sendAndCut(`cut-${i}`, i * 40);
    made.push(await createUntilDone(`cut-${i}`));
  }
  expect(await liveSandboxes()).toEqual(made.toSorted());
  expect(await sandboxesOfEngine()).toEqual(made.toSorted());
  for (const { sessionId } of ((await berth.api.call("GET", "/api/b2b/sessions?status=running")).body as Listed).data)
    await berth.api.call("DELETE", `/api/b2b/sessions/${sessionId}`);
});

test(
  "a retry after a crash of the server makes no second sandbox, and the next server answers it at once",
  { timeout: 180_000 },
  async () => {
    const made: string[] = [];
    for (let i = 0; i < 3; i++) {
      await sendAndCut(`kill-${i}`, 60 + i * 120);
      await berth.kill();
      await berth.start();
      made.push(await createUntilDone(`kill-${i}`));
    }
    await expect.poll(liveSandboxes, { timeout: 30_000 }).toEqual(made.toSorted());
    // The next server destroys what the crash left incomplete.
    await expect.poll(sandboxesOfEngine, { timeout: 60_000, interval: 500 }).toEqual(made.toSorted());
  },
);
