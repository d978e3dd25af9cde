import { afterAll, beforeAll, expect, test } from "vitest";
import { AppError, type ErrorCode } from "@berth/contract";
import { onBothEngines } from "../../tests/support/databases/stores.ts";
import { eventsAfter } from "../store/events.ts";
import { aRequest, openTestSessions, type TestSessions } from "./testing/test-sessions.ts";

onBothEngines("sessions", (databases) => {
  let services: TestSessions;
  beforeAll(async () => {
    services = await openTestSessions({ databaseUrl: (await databases.create()).url });
  });
  afterAll(() => services?.[Symbol.asyncDispose]());

  const create = (changes = {}) => services.sessions.create(services.acme, aRequest(changes));
  const condition = (session: { sandboxId: `sbx_${string}` }) => services.driver.inspect(session.sandboxId, AbortSignal.timeout(30_000));
  const codeOf = async (call: Promise<unknown>): Promise<ErrorCode | "ok"> =>
    call.then(
      () => "ok" as const,
      (error: unknown) => (error as AppError).code,
    );

  test("creating, pausing, resuming and destroying a session does the same to its sandbox", async () => {
    const session = await create();
    expect(session.status).toBe("running");
    expect(await condition(session)).toBe("running");
    expect((await services.sessions.pause("acme", session.id)).status).toBe("paused");
    expect(await condition(session)).toBe("frozen");
    expect((await services.sessions.resume("acme", session.id, { autoStartAgent: false })).status).toBe("running");
    expect(await condition(session)).toBe("running");
    expect((await services.sessions.destroy("acme", session.id)).status).toBe("destroyed");
    expect(await condition(session)).toBe("absent");
    expect((await services.sessions.get("acme", session.id)).status).toBe("destroyed");
    const types = (await eventsAfter(services.store.db, "acme", 0, 1000))
      .filter((event) => event.sessionId === session.id)
      .map((event) => event.type);
    expect(types).toEqual(["session.created", "session.paused", "session.resumed", "session.destroyed"]);
  });

  test("a call that does not fit the state is refused with its error code", async () => {
    const session = await create();
    expect(await codeOf(services.sessions.resume("acme", session.id, { autoStartAgent: true }))).toBe("session_already_running");
    await services.sessions.pause("acme", session.id);
    expect(await codeOf(services.sessions.pause("acme", session.id))).toBe("session_already_paused");
    await services.sessions.destroy("acme", session.id);
    expect(await codeOf(services.sessions.pause("acme", session.id))).toBe("session_not_found");
    expect(await codeOf(services.sessions.resume("acme", session.id, { autoStartAgent: true }))).toBe("session_not_found");
    expect(await codeOf(services.sessions.destroy("acme", session.id))).toBe("ok");
  });

  test("another partner's session, an unknown id and a malformed id are not found", async () => {
    const session = await create();
    for (const [partner, id] of [
      ["other", session.id],
      ["acme", `ses_${"0".repeat(26)}`],
      ["acme", "../../etc/passwd"],
    ] as const)
      expect(await codeOf(services.sessions.get(partner, id))).toBe("session_not_found");
    await services.sessions.destroy("acme", session.id);
  });

  test("of 50 concurrent pauses, one succeeds and 49 conflict", async () => {
    const session = await create();
    const codes = await Promise.all(Array.from({ length: 50 }, () => codeOf(services.sessions.pause("acme", session.id))));
    expect(codes.filter((code) => code === "ok")).toHaveLength(1);
    expect(codes.filter((code) => code === "session_busy" || code === "session_already_paused")).toHaveLength(49);
    await services.sessions.destroy("acme", session.id);
  });

  test("a delete that races pauses and resumes always ends destroyed, without a sandbox", async () => {
    for (let round = 0; round < 5; round++) {
      const session = await create();
      const others = Array.from({ length: 6 }, (_, i) =>
        codeOf(
          i % 2 ? services.sessions.pause("acme", session.id) : services.sessions.resume("acme", session.id, { autoStartAgent: false }),
        ),
      );
      const deletes = [services.sessions.destroy("acme", session.id), services.sessions.destroy("acme", session.id)];
      expect((await Promise.all(deletes)).map((view) => view.status)).toEqual(["destroyed", "destroyed"]);
      await Promise.all(others);
      expect((await services.sessions.get("acme", session.id)).status).toBe("destroyed");
      expect(await condition(session)).toBe("absent");
    }
  });

  test("concurrent creates cannot exceed a quota", async () => {
    const limited = { id: "acme", maxSessions: null, maxSessionsPerUser: 2, idleTimeoutMs: null };
    const calls = Array.from({ length: 5 }, () => services.sessions.create(limited, aRequest({ externalUserId: "greedy" })));
    const codes = await Promise.all(calls.map((call) => codeOf(call)));
    expect(codes.filter((code) => code === "ok")).toHaveLength(2);
    expect(codes.filter((code) => code === "session_quota")).toHaveLength(3);
  });

  test("the list never shows more sessions than the quota, also while one is being destroyed", async () => {
    const removal = Promise.withResolvers<void>();
    const entered = Promise.withResolvers<void>();
    await using slow = await openTestSessions({
      databaseUrl: (await databases.create()).url,
      wrapDriver: (driver) => ({
        ...driver,
        async destroy(id, signal) {
          entered.resolve();
          await removal.promise;
          return driver.destroy(id, signal);
        },
      }),
    });
    const limited = { ...slow.acme, maxSessions: 1 };
    const { id } = await slow.sessions.create(limited, aRequest());
    const destroying = slow.sessions.destroy("acme", id);
    await entered.promise;
    const code = await codeOf(slow.sessions.create(limited, aRequest()));
    const listed = await slow.sessions.list("acme", { limit: 10, status: "running" });
    removal.resolve();
    await destroying;
    expect([code, listed.sessions.length]).toEqual(["session_quota", 1]);
    await slow.sessions.create(limited, aRequest());
    expect((await slow.sessions.list("acme", { limit: 10, status: "running" })).sessions).toHaveLength(1);
  });

  test("a change of a session that moves meanwhile is applied to what it has become", async () => {
    const { id } = await create();
    const codes: string[] = [];
    for (let round = 0; round < 10; round++) {
      const step = round % 2 === 0 ? services.sessions.pause("acme", id) : services.sessions.resume("acme", id, { autoStartAgent: false });
      const change = async (n: number) => {
        await turns(n * 3);
        codes.push(await codeOf(services.sessions.update("acme", id, { metadata: { round: String(round), n: String(n) } })));
      };
      await Promise.all([step, ...Array.from({ length: 12 }, (_, n) => change(n))]);
    }
    expect(new Set(codes)).toEqual(new Set(["ok"]));
  });

  test("concurrent creates cannot exceed the limit of sandboxes", async () => {
    const capacity = { maxSandboxes: 2, reserveBytes: 0 };
    await using small = await openTestSessions({ databaseUrl: (await databases.create()).url, capacity });
    const calls = await Promise.all(Array.from({ length: 8 }, () => codeOf(small.sessions.create(small.acme, aRequest()))));
    expect(calls.filter((code) => code === "ok")).toHaveLength(2);
    expect(calls.filter((code) => code === "capacity_reached")).toHaveLength(6);
  });

  test("creates that wait for the engine each take a different warm sandbox", async () => {
    let held = 2;
    await using slow = await openTestSessions({
      databaseUrl: (await databases.create()).url,
      poolSize: 2,
      wrapDriver: (driver) => ({
        ...driver,
        create(spec, signal) {
          if (held === 0) return driver.create(spec, signal);
          held--;
          return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)));
        },
      }),
    });
    const calls = [slow.sessions.create(slow.acme, aRequest()), slow.sessions.create(slow.acme, aRequest())];
    await expect.poll(() => held).toBe(0);
    await slow.start();
    const sessions = await Promise.all(calls);
    expect(new Set(sessions.map(({ sandboxId }) => sandboxId)).size).toBe(2);
    const states = async () => (await slow.store.db.selectFrom("sessions").select("state").execute()).map(({ state }) => state).sort();
    await expect.poll(states).toEqual(["running", "running", "warm", "warm"]);
  });

  test("destroying a session deletes its environment variables and its token", async () => {
    const session = await create({ envVars: { SECRET: "s3cret" } });
    const rowOf = () => services.store.db.selectFrom("sessions").selectAll().where("id", "=", session.id).executeTakeFirstOrThrow();
    const before = await rowOf();
    expect(before.env).toMatch(/^v1\./);
    expect(JSON.stringify(before)).not.toContain("s3cret");
    await services.sessions.destroy("acme", session.id);
    expect(await rowOf()).toMatchObject({ env: null, token: "" });
  });

  test("environment variables are set for commands in the sandbox", async () => {
    const session = await create({ envVars: { GREETING: "hello" } });
    const response = await services.links.request(session.sandboxId, {
      method: "POST",
      path: "/exec",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ command: "echo $GREETING" }),
    });
    expect(await response.body.reduce((text: string, chunk) => text + String(chunk), "")).toContain("hello\\n");
    await services.sessions.destroy("acme", session.id);
  });
});

async function turns(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await new Promise(setImmediate);
}
