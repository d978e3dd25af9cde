import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { sharedPostgres, type SharedPostgres } from "../support/databases/postgres.ts";
import { startBerth, type Berth } from "../support/servers/berth.ts";
import { runCliForJsonHere, runCliHere } from "../support/servers/cli.ts";

// The server meets a store that does not know its sandboxes. Whatever the store says, the files of people stay.

const ANYWAY = { flags: ["--quarantine-unknown"] };
const USERS = ["ann", "bob", "eve"] as const;

interface Made {
  sessionId: string;
  sandboxId: string;
}

describe("a store that does not know the sandboxes", () => {
  let berth: Berth;
  let postgres: SharedPostgres;
  const sessions: Made[] = [];
  const sums: string[] = [];
  // The database after the session of ann, and the whole one, as kill -9 left it.
  const [first, whole] = ["first", "whole"];

  beforeAll(async () => {
    postgres = await sharedPostgres();
    berth = await startBerth({ BERTH_LOG_LEVEL: "warn" });
    for (const externalUserId of USERS) {
      const made = (await berth.api.create({ externalUserId, autoStartAgent: false, envVars: { NAME: externalUserId } })) as Made;
      await berth.api.exec(
        made.sandboxId,
        "mkdir -p src && head -c 300000 /dev/urandom > src/bytes && chmod 640 src/bytes && ln -s src link",
      );
      sessions.push(made);
      sums.push(await sumOf(made));
      if (externalUserId === "eve") break;
      await berth.stop();
      if (externalUserId === "ann") keep(first);
      await berth.start();
    }
    await berth.kill();
    keep(whole);
  }, 180_000);
  afterAll(() => berth?.[Symbol.asyncDispose]());

  const sumOf = async ({ sandboxId }: Made) =>
    (await berth.api.exec(sandboxId, "sync; sha256sum src/bytes; stat -c %a src/bytes; readlink link; echo $NAME")).stdout;
  const files = ["berth.db", "berth.db-wal", "berth.db-shm"];
  const path = (...names: string[]) => join(berth.dataDir, ...names);

  function keep(name: string): void {
    mkdirSync(path(name));
    for (const file of files) if (existsSync(path(file))) copyFileSync(path(file), path(name, file));
  }

  // null: no database at all.
  function use(name: string | null): void {
    for (const file of files) rmSync(path(file), { force: true });
    if (name !== null) for (const file of files) if (existsSync(path(name, file))) copyFileSync(path(name, file), path(file));
  }

  function expectAllFiles(): void {
    for (const { sandboxId } of sessions) expect(existsSync(path("sandboxes", sandboxId))).toBe(true);
  }

  async function expectWorks(at: number): Promise<void> {
    const { sessionId } = sessions[at]!;
    const { status } = (await berth.api.call("GET", `/api/b2b/sessions/${sessionId}`)).body as { status: string };
    if (status === "paused") {
      const resumed = await berth.api.call("POST", `/api/b2b/sessions/${sessionId}/resume`, { autoStartAgent: false });
      expect(resumed).toMatchObject({ status: 200 });
    }
    expect(await sumOf(sessions[at]!)).toBe(sums[at]);
  }

  test("an empty database file: the start is refused with a sentence, twice, and no file is touched", async () => {
    use(null);
    writeFileSync(path("berth.db"), "");
    for (let i = 0; i < 2; i++)
      await expect(berth.start()).rejects.toThrow(
        /The store does not know 3 of 3 sandboxes that were in use, so the server does not start\. Their files are kept\.\nberth: The data folder \S+ was last used with another store/,
      );
    expectAllFiles();
  });

  test("a backup that is too old: the start is refused", async () => {
    use(first);
    await expect(berth.start()).rejects.toThrow("The store does not know 2 of 3 sandboxes");
    expectAllFiles();
  });

  test("the right database again: nothing is lost, and every sandbox still runs", async () => {
    use(whole);
    await berth.start();
    for (const at of [0, 1, 2]) {
      expect((await berth.api.call("GET", `/api/b2b/sessions/${sessions[at]!.sessionId}`)).body).toMatchObject({ status: "running" });
      await expectWorks(at);
    }
    await berth.stop();
  });

  test("a lost -wal after kill -9, like a backup that lacks one session: its sandbox is stopped and kept, and gets its session back with files and variables", async () => {
    use(whole);
    // The last session was only there.
    for (const file of ["berth.db-wal", "berth.db-shm"]) rmSync(path(file));
    await berth.start();
    const { sandboxId, sessionId } = sessions[2]!;
    const quarantined = () => runCliForJsonHere<{ sandboxId: string }[]>(berth, "session", "recover");
    await expect
      .poll(quarantined)
      .toEqual([expect.objectContaining({ sandboxId, sessionId, partner: "demo", externalUserId: "eve", template: "default" })]);
    expect((await berth.api.call("GET", `/api/b2b/sessions/${sessionId}`)).status).toBe(404);
    const doctor = (await runCliForJsonHere<{ topic: string; text: string }[]>(berth, "doctor")).filter(
      ({ topic }) => topic === "quarantine",
    );
    expect(doctor.map(({ text }) => text)).toEqual([
      expect.stringMatching(/^1 without a row in the store, \d+ MiB on disk; the first is deleted on \d{4}-\d\d-\d\d\.$/),
      expect.stringMatching(new RegExp(`^the sandbox ${sandboxId}, found on \\S+, kept until \\S+$`)),
    ]);

    expect(await runCliForJsonHere(berth, "session", "recover", sandboxId)).toMatchObject({ sessionId, sandboxId, status: "paused" });
    for (const at of [0, 1, 2]) await expectWorks(at);
    expect(await quarantined()).toEqual([]);
    const again = await runCliHere(berth, "session", "recover", sandboxId);
    expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining(`${sandboxId} is not in quarantine`) });
    await berth.stop();
  });

  describe("an empty PostgreSQL", () => {
    let env: Record<string, string>;
    const quarantined = async () => {
      const place = { ...berth, env: { ...berth.env, ...env } };
      return (await runCliForJsonHere<object[]>(place, "session", "recover")).length;
    };

    test("the start is refused; with the flag every sandbox is stopped and kept", async () => {
      env = { BERTH_DATABASE_URL: await postgres.createDatabase(), BERTH_MASTER_KEY: readFileSync(path("master-key"), "utf8").trim() };
      await expect(berth.start(env)).rejects.toThrow(/The store does not know 3 of 3 sandboxes[^]*was last used with another store/);
      expectAllFiles();
      await berth.start(env, ANYWAY);
      await expect.poll(quarantined).toBe(3);
      await berth.stop();
    });

    test("back on the database that was there first, every session has its files", async () => {
      use(whole);
      await berth.start();
      expect(berth.output()).toContain("installation.mismatch");
      for (const at of [0, 1, 2]) await expectWorks(at);
      await berth.stop();
    });

    test("all sessions are recovered at once", async () => {
      await berth.start(env);
      const place = { ...berth, env: { ...berth.env, ...env } };
      // They ran for the other store. The server stops them again.
      const compared = async () =>
        (await runCliForJsonHere<{ topic: string; text: string }[]>(place, "doctor")).filter(({ topic }) => topic === "sandboxes");
      await expect.poll(compared).toEqual([expect.objectContaining({ text: "3, as in the store" })]);
      const { recovered, ...rest } = await runCliForJsonHere<{ recovered: Made[] }>(place, "session", "recover", "--all");
      expect(rest).toEqual({ left: 0, failures: [] });
      expect(recovered.map(({ sessionId }) => sessionId).toSorted()).toEqual(sessions.map(({ sessionId }) => sessionId).toSorted());
      for (const at of [0, 1, 2]) await expectWorks(at);
      expect(await quarantined()).toBe(0);
    });
  });
});
