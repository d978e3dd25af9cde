import { existsSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { createBerth } from "../../client/index.ts";
import { startBerth } from "../support/servers/berth.ts";
import { runCliForJsonHere, type CliPlace } from "../support/servers/cli.ts";
import { daemonRuntime } from "../support/runtime.ts";

test("berth doctor reports a sandbox that the store does not know, and the next start keeps it in quarantine", async () => {
  await daemonRuntime();
  await using server = await startBerth();
  const berth = createBerth({ baseUrl: server.url, apiKey: server.key });
  const kept = await berth.sessions.create({ externalUserId: "ada", autoStartAgent: false });
  const forgotten = await berth.sessions.create({ externalUserId: "bob", autoStartAgent: false });
  await server.stop();
  forget(join(server.dataDir, "berth.db"), forgotten.sessionId);

  expect(await findingsOf(server, "sandboxes")).toEqual([`${forgotten.sandboxId} is not known to the store`]);
  await server.start();
  await expect
    .poll(() => findingsOf(server, "quarantine"), { timeout: 30_000 })
    .toContainEqual(expect.stringContaining(`the sandbox ${forgotten.sandboxId}, found on`));
  expect(await findingsOf(server, "sandboxes")).toEqual(["2, as in the store"]);
  expect(existsSync(join(server.dataDir, "sandboxes", forgotten.sandboxId))).toBe(true);
  expect((await kept.exec("echo still here")).stdout).toBe("still here\n");
}, 180_000);

function forget(file: string, sessionId: string): void {
  const database = new DatabaseSync(file);
  database.prepare("delete from sessions where id = ?").run(sessionId);
  database.close();
}

async function findingsOf(place: CliPlace, asked: string): Promise<string[]> {
  const findings = await runCliForJsonHere<{ topic: string; text: string }[]>(place, "doctor");
  return findings.filter(({ topic }) => topic === asked).map(({ text }) => text);
}
