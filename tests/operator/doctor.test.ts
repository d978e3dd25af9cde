import { existsSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { createBerth } from "../../client/index.ts";
import { startBerth } from "../support/servers/berth.ts";
import { runCliForJsonHere, type CliPlace } from "../support/servers/cli.ts";
import { daemonRuntime } from "../support/runtime.ts";

test("berth doctor reports how the engine differs from the store, and the next start repairs it", async () => {
  await daemonRuntime();
  await using server = await startBerth();
  const berth = createBerth({ baseUrl: server.url, apiKey: server.key });
  const kept = await berth.sessions.create({ externalUserId: "ada", autoStartAgent: false });
  const forgotten = await berth.sessions.create({ externalUserId: "bob", autoStartAgent: false });
  await server.stop();
  forget(join(server.dataDir, "berth.db"), forgotten.sessionId);

  expect(await sandboxFindings(server)).toEqual([`${forgotten.sandboxId} belongs to no session`]);
  await server.start();
  // The doctor looks at more than this, so ask it when the sandbox is gone.
  const folder = join(server.dataDir, "sandboxes", forgotten.sandboxId);
  await expect.poll(() => existsSync(folder), { timeout: 30_000 }).toBe(false);
  await expect.poll(() => sandboxFindings(server), { timeout: 30_000 }).toEqual(["1, as in the store"]);
  expect((await kept.exec("echo still here")).stdout).toBe("still here\n");
}, 180_000);

function forget(file: string, sessionId: string): void {
  const database = new DatabaseSync(file);
  database.prepare("delete from sessions where id = ?").run(sessionId);
  database.close();
}

async function sandboxFindings(place: CliPlace): Promise<string[]> {
  const findings = await runCliForJsonHere<{ topic: string; text: string }[]>(place, "doctor");
  return findings.filter(({ topic }) => topic === "sandboxes").map(({ text }) => text);
}
