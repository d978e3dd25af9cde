import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, expect, test } from "vitest";
import { installed, machine, testWith } from "../support/machine.ts";
import { createApi } from "../support/servers/api.ts";
import { prepareBerth, startBerth } from "../support/servers/berth.ts";
import { startPostgres } from "../support/databases/postgres.ts";

const root = join(import.meta.dirname, "../..");
const run = promisify(execFile);

let stack = new AsyncDisposableStack();
afterEach(async () => {
  await stack.disposeAsync();
  stack = new AsyncDisposableStack();
});

// The commands of docs/backup.md, with this test's folders.
function commands(places: { data: string; backups: string }): Record<"backUp" | "restore" | "backUpAll" | "restoreDatabase", string> {
  const page = readFileSync(join(root, "docs/backup.md"), "utf8");
  const blocks = [...page.matchAll(/```sh\n([^`]*)```/g)].map((match) => match[1]!);
  const [backUp = "", restore = "", backUpAll = "", restoreDatabase = ""] = blocks.map((block) =>
    block.replaceAll("/var/lib/berth", places.data).replaceAll("/backups", places.backups),
  );
  return { backUp, restore, backUpAll, restoreDatabase };
}

test("a restored backup holds every session and its files", async () => {
  const folder = await mkdtemp(join(tmpdir(), "berth-backup-"));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const backup = join(folder, "berth.tar");

  const lost = stack.use(await startBerth({ BERTH_LOG_LEVEL: "warn", BERTH_HIBERNATE_AFTER: "0" }));
  const paused = await lost.api.create({ externalUserId: "ann", envVars: { SECRET: "sealed" } });
  await lost.api.exec(
    paused.sandboxId,
    "mkdir -p src && seq 10000 > src/numbers && echo home > ~/.profile-note && ln -s src link && chmod 700 src",
  );
  const sum = (await lost.api.exec(paused.sandboxId, "sha256sum src/numbers")).stdout;
  expect((await lost.api.call("POST", `/api/b2b/sessions/${paused.sessionId}/pause`)).status).toBe(200);
  const running = await lost.api.create({ externalUserId: "bob" });
  await lost.api.exec(running.sandboxId, "echo in-the-middle > note; sync");

  await run("sh", ["-ec", commands({ data: lost.dataDir, backups: folder }).backUp], { cwd: root });
  expect((await stat(backup)).mode & 0o777).toBe(0o600);
  // Created after the backup, so the restored database does not have it.
  const late = await lost.api.create({ externalUserId: "eve" });
  await lost[Symbol.asyncDispose]();

  const found = stack.use(await prepareBerth({ BERTH_LOG_LEVEL: "warn" }));
  await run("sh", ["-ec", commands({ data: found.dataDir, backups: folder }).restore], { cwd: root });
  await found.start();
  // The partner's old key works on the restored server.
  const api = createApi(found.url, lost.key);
  const look = async (id: string) => (await api.call("GET", `/api/b2b/sessions/${id}`)) as { status: number; body: { status?: string } };
  expect((await look(paused.sessionId)).body).toMatchObject({ status: "paused", sandboxId: paused.sandboxId });
  await expect.poll(async () => (await look(running.sessionId)).body.status).toBe("paused");
  expect((await look(late.sessionId)).status).toBe(404);

  for (const { sessionId } of [paused, running])
    expect((await api.call("POST", `/api/b2b/sessions/${sessionId}/resume`, { autoStartAgent: false })).status).toBe(200);
  expect((await api.exec(paused.sandboxId, "sha256sum src/numbers")).stdout).toBe(sum);
  expect((await api.exec(paused.sandboxId, "cat ~/.profile-note; readlink link; stat -c %a src; echo $SECRET")).stdout).toBe(
    "home\nsrc\n700\nsealed\n",
  );
  expect((await api.exec(running.sandboxId, "cat note")).stdout).toBe("in-the-middle\n");
});

// The bundled PostgreSQL has no pg_dump, and pg_dump refuses another version.
const programs = installed.postgresPrograms;

testWith(machine.postgresPrograms, "a restored backup holds every session and its files on PostgreSQL", async () => {
  const folder = await mkdtemp(join(tmpdir(), "berth-backup-"));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const postgres = stack.use(await startPostgres({ programs: programs! }));
  const settings = { BERTH_LOG_LEVEL: "warn", BERTH_HIBERNATE_AFTER: "0", BERTH_MASTER_KEY: "ab".repeat(32) };
  const sh = (command: string, url: string) => {
    const env = { PATH: `${programs}:${process.env["PATH"]}`, BERTH_DATABASE_URL: url };
    return run("sh", ["-ec", command], { cwd: root, env });
  };

  const url = await postgres.createDatabase();
  const lost = stack.use(await startBerth({ ...settings, BERTH_DATABASE_URL: url }));
  const session = await lost.api.create({ envVars: { SECRET: "sealed" } });
  await lost.api.exec(session.sandboxId, "echo kept > note");
  expect((await lost.api.call("POST", `/api/b2b/sessions/${session.sessionId}/pause`)).status).toBe(200);
  await sh(commands({ data: lost.dataDir, backups: folder }).backUpAll, url);
  await lost[Symbol.asyncDispose]();

  const empty = await postgres.createDatabase();
  const found = stack.use(await prepareBerth({ ...settings, BERTH_DATABASE_URL: empty }));
  const again = commands({ data: found.dataDir, backups: folder });
  await sh(again.restore, empty);
  await sh(again.restoreDatabase, empty);
  await found.start();
  const api = createApi(found.url, lost.key);
  expect((await api.call("POST", `/api/b2b/sessions/${session.sessionId}/resume`, { autoStartAgent: false })).status).toBe(200);
  expect((await api.exec(session.sandboxId, "cat note; echo $SECRET")).stdout).toBe("kept\nsealed\n");
});
