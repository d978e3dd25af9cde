import { execFile } from "node:child_process";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { createBerth } from "../../client/index.ts";
import { startBerth } from "../support/servers/berth.ts";
import { daemonRuntime } from "../support/runtime.ts";

const bin = join(import.meta.dirname, "../../cli/bin.js");

test("berth doctor reports how the engine differs from the store, and the next start repairs it", async () => {
  await daemonRuntime();
  await using server = await startBerth();
  const berth = createBerth({ baseUrl: server.url, apiKey: server.key });
  const kept = await berth.sessions.create({ externalUserId: "ada", autoStartAgent: false });
  const forgotten = await berth.sessions.create({ externalUserId: "bob", autoStartAgent: false });
  await server.stop();
  forget(join(server.dataDir, "berth.db"), forgotten.sessionId);

  expect(await sandboxFindings(server.env)).toEqual([`${forgotten.sandboxId} belongs to no session`]);
  await server.start();
  await expect.poll(() => sandboxFindings(server.env), { timeout: 30_000 }).toEqual(["1, as in the store"]);
  expect((await kept.exec("echo still here")).stdout).toBe("still here\n");
}, 180_000);

function forget(file: string, sessionId: string): void {
  const database = new DatabaseSync(file);
  database.prepare("delete from sessions where id = ?").run(sessionId);
  database.close();
}

async function sandboxFindings(env: Record<string, string>): Promise<string[]> {
  const { stdout } = await promisify(execFile)(process.execPath, [bin, "doctor", "--json"], { env: { PATH: process.env.PATH, ...env } });
  return (JSON.parse(stdout) as { topic: string; text: string }[]).filter(({ topic }) => topic === "sandboxes").map(({ text }) => text);
}
