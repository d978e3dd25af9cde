import { setTimeout as delay } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { isAppError } from "@berth/contract";
import { sharedPostgres, type SharedPostgres } from "../../../tests/support/databases/postgres.ts";
import { openSeverableProxy, type SeverableProxy } from "../../../tests/support/servers/severable-proxy.ts";
import { SECOND } from "../../clock.ts";
import type { Driver } from "../../drivers/driver.ts";
import { findSession } from "../../store/sessions/read.ts";
import { aRequest, openTestSessions, type TestSessions } from "../testing/test-sessions.ts";

// A step's work is done, but PostgreSQL is lost for a moment when its end should be written. The lease does not expire in these tests:
// their clock moves only when they say so.
let postgres: SharedPostgres;
beforeAll(async () => void (postgres = await sharedPostgres()));
afterAll(() => postgres?.[Symbol.asyncDispose]());

let proxy: SeverableProxy;
let services: TestSessions;
let losesAfter: "create" | "pause" | "resume" | "destroy" | null;
// A pause waits for this.
let held: Promise<void> | null;

beforeEach(async () => {
  const url = new URL(await postgres.createDatabase());
  proxy = await openSeverableProxy(() => Number(url.port));
  losesAfter = held = null;
  const databaseUrl = Object.assign(new URL(url), { port: String(proxy.port) }).href;
  services = await openTestSessions({ databaseUrl, wrapDriver: losing });
});
afterEach(async () => {
  proxy.restore();
  await services?.[Symbol.asyncDispose]();
  await proxy[Symbol.asyncDispose]();
});

function losing(driver: Driver): Driver {
  const after = async <Result>(name: typeof losesAfter, work: Promise<Result>): Promise<Result> => {
    const result = await work;
    if (losesAfter === name) proxy.sever();
    return result;
  };
  return {
    ...driver,
    create: (spec, signal) => after("create", driver.create(spec, signal)),
    pause: async (id, signal) => {
      await held;
      return after("pause", driver.pause(id, signal));
    },
    resume: (spec, signal) => after("resume", driver.resume(spec, signal)),
    destroy: (id, signal) => after("destroy", driver.destroy(id, signal)),
  };
}

const codeOf = (call: Promise<unknown>) =>
  call.then(
    () => "ok",
    (error: unknown) => (isAppError(error) ? error.code : String(error)),
  );
const stateOf = async (id: string) => (await findSession(services.store.db, id as never))?.state;

// Waits until the pool has replaced its broken connections.
async function restore(): Promise<void> {
  losesAfter = null;
  proxy.restore();
  await expect.poll(() => codeOf(services.store.ready())).toBe("ok");
}

async function lose(during: "pause" | "resume" | "destroy"): Promise<string> {
  const { sessions } = services;
  const { id } = await sessions.create(services.acme, aRequest());
  if (during === "resume") await sessions.pause("acme", id);
  losesAfter = during;
  const call = during === "resume" ? sessions.resume("acme", id, { autoStartAgent: false }) : sessions[during]("acme", id);
  expect(await codeOf(call)).toBe("store_unavailable");
  await restore();
  expect(await stateOf(id)).toBe({ pause: "pausing", resume: "resuming", destroy: "destroying" }[during]);
  return id;
}

test.each([
  ["pause", "paused"],
  ["resume", "running"],
  ["destroy", "destroyed"],
] as const)("a %s that lost the database is finished by its own server when the database is back", async (during, state) => {
  await services.start();
  const id = await lose(during);
  await services.clock.advance(SECOND);
  expect(await stateOf(id)).toBe(state);
});

test.each(["pause", "resume", "destroy"] as const)(
  "a DELETE after a %s that lost the database does not wait for the lease",
  async (during) => {
    const id = await lose(during);
    expect(await Promise.race([services.sessions.destroy("acme", id), delay(10_000, "waits")])).toMatchObject({ status: "destroyed" });
  },
);

test("a create that lost the database leaves nothing behind when the database is back", async () => {
  await services.start();
  losesAfter = "create";
  expect(await codeOf(services.sessions.create(services.acme, aRequest()))).toBe("store_unavailable");
  await restore();
  expect(await services.driver.list(AbortSignal.timeout(10_000))).toHaveLength(1);
  await services.clock.advance(SECOND);
  expect(await services.driver.list(AbortSignal.timeout(10_000))).toEqual([]);
  expect(await services.store.db.selectFrom("sessions").select("id").execute()).toEqual([]);
});

test("a step that this server works on is not taken over, however often it looks", async () => {
  await services.start();
  const { id } = await services.sessions.create(services.acme, aRequest());
  const { promise, resolve } = Promise.withResolvers<void>();
  held = promise;
  const pausing = services.sessions.pause("acme", id);
  await expect.poll(() => stateOf(id)).toBe("pausing");
  const taken = [await services.reconcile.finishSteps(), await services.reconcile.finishSteps()];
  resolve();
  expect([taken, (await pausing).status]).toEqual([[0, 0], "paused"]);
});
