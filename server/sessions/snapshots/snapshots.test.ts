import { text } from "node:stream/consumers";
import { newId, type SandboxId } from "@berth/contract";
import { expect, test } from "vitest";
import { DAY, MINUTE } from "../../clock.ts";
import type { Driver } from "../../drivers/driver.ts";
import { listQuarantined } from "../../store/quarantine.ts";
import { adoptSnapshot } from "../../store/snapshots/write.ts";
import { DEFAULT_TEMPLATE } from "../../templates.ts";
import { statesOf } from "../testing/pool-states.ts";
import { aRequest, openTestSessions, type TestSessions } from "../testing/test-sessions.ts";

const deadline = () => AbortSignal.timeout(30_000);
const LIMITS = { maxSnapshots: 100, maxSnapshotBytes: 2 ** 40, snapshotRetentionMs: null };

async function run({ links }: TestSessions, sandboxId: SandboxId, command: string): Promise<string> {
  const response = await links.request(sandboxId, { method: "POST", path: "/exec?format=text", body: JSON.stringify({ command }) });
  return text(response.body);
}

async function sessionWithNote(services: TestSessions) {
  const session = await services.sessions.create(services.acme, aRequest());
  await run(services, session.sandboxId, "echo prepared > note");
  return session;
}

const eventTypes = async ({ store }: TestSessions) =>
  (await store.db.selectFrom("events").select("type").orderBy("seq").execute()).map(({ type }) => type);

test("a partner finds neither the sessions nor the snapshots of another", async () => {
  await using services = await openTestSessions();
  const { id: sessionId } = await sessionWithNote(services);
  const { snapshots } = services;
  const { id: snapshotId } = await snapshots.take("acme", sessionId, { name: "" });
  const never = () => Promise.reject(new Error("it must not get the files"));
  await expect(snapshots.take("other", sessionId, { name: "" })).rejects.toMatchObject({ code: "session_not_found" });
  await expect(snapshots.get("other", snapshotId)).rejects.toMatchObject({ code: "snapshot_not_found" });
  await expect(snapshots.remove("other", snapshotId)).rejects.toMatchObject({ code: "snapshot_not_found" });
  await expect(snapshots.withFiles("other", { snapshotId }, never)).rejects.toMatchObject({ code: "snapshot_not_found" });
  await expect(snapshots.withFiles("other", { sessionId }, never)).rejects.toMatchObject({ code: "session_not_found" });
  expect(await snapshots.templateOf("other", { snapshotId })).toBeNull();
  expect(await snapshots.list("other", { limit: 10 })).toEqual([]);
  expect(await snapshots.list("acme", { limit: 10 })).toMatchObject([{ id: snapshotId, state: "ready" }]);
});

test("of two deletions at once, one deletes the snapshot and the other does not find it", async () => {
  await using services = await openTestSessions();
  const { id: sessionId } = await sessionWithNote(services);
  const { id } = await services.snapshots.take("acme", sessionId, { name: "" });
  const results = await Promise.allSettled([services.snapshots.remove("acme", id), services.snapshots.remove("acme", id)]);
  expect(results.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
  expect(results.find(({ status }) => status === "rejected")).toMatchObject({ reason: { code: "snapshot_not_found" } });
});

test("a snapshot that exceeds the space of its partner leaves nothing behind", async () => {
  await using services = await openTestSessions({ snapshotLimits: { ...LIMITS, maxSnapshotBytes: 1 } });
  const { id } = await sessionWithNote(services);
  await expect(services.snapshots.take("acme", id, { name: "" })).rejects.toMatchObject({ code: "snapshot_quota" });
  expect(await services.driver.listSnapshots(deadline())).toEqual([]);
  expect(await services.store.db.selectFrom("snapshots").selectAll().execute()).toEqual([]);
  expect(await eventTypes(services)).toEqual(["session.created", "snapshot.failed"]);
});

test("a snapshot is deleted at the end of its retention, and the operator's is kept", async () => {
  await using services = await openTestSessions({ snapshotLimits: { ...LIMITS, snapshotRetentionMs: 2 * DAY } });
  const session = await sessionWithNote(services);
  await services.snapshots.take("acme", session.id, { name: "" });
  const { id: adopted } = await services.snapshots.take("acme", session.id, { name: "" });
  await adoptSnapshot(services.store.db, adopted);
  await services.sessions.destroy("acme", session.id);
  await services.start();
  services.clock.skip(2 * DAY);
  await services.clock.leap(MINUTE);
  expect(await services.driver.listSnapshots(deadline())).toEqual([adopted]);
  expect(await services.snapshots.list("acme", { limit: 10 })).toEqual([]);
  expect(await eventTypes(services)).toContain("snapshot.deleted");
});

test("a deletion that failed is finished, and files without a row are kept until their time in quarantine is over", async () => {
  let failures = 1;
  const failOnce = (driver: Driver): Driver => ({
    ...driver,
    deleteSnapshot: async (...args) => {
      if (failures-- > 0) throw new Error("the disk does not answer");
      await driver.deleteSnapshot(...args);
    },
  });
  await using services = await openTestSessions({ wrapDriver: failOnce });
  const session = await sessionWithNote(services);
  const { id } = await services.snapshots.take("acme", session.id, { name: "" });
  await expect(services.snapshots.remove("acme", id)).rejects.toThrow("the disk does not answer");
  await expect(services.snapshots.get("acme", id)).rejects.toMatchObject({ code: "snapshot_not_found" });
  const unknown = newId("snp", 1);
  await services.driver.takeSnapshot(session.sandboxId, unknown, deadline());
  await services.start();
  await expect.poll(() => services.driver.listSnapshots(deadline()), { timeout: 30_000 }).toEqual([unknown]);
  await expect.poll(() => listQuarantined(services.store.db)).toMatchObject([{ kind: "snapshot", id: unknown }]);
  await services.clock.leap(30 * DAY - MINUTE);
  expect(await services.driver.listSnapshots(deadline())).toEqual([unknown]);
  await services.clock.leap(2 * MINUTE);
  await expect.poll(() => services.driver.listSnapshots(deadline()), { timeout: 30_000 }).toEqual([]);
  await expect.poll(() => services.store.db.selectFrom("snapshots").select("id").execute(), { timeout: 30_000 }).toEqual([]);
});

test("the pool holds sandboxes with the snapshot of their template, once the operator has adopted it", async () => {
  const template = { ...DEFAULT_TEMPLATE, name: "prepared", setup: "exit 1" };
  const templates = new Map([[DEFAULT_TEMPLATE.name, DEFAULT_TEMPLATE]]);
  await using services = await openTestSessions({ templates });
  const { id: snapshotId } = await services.snapshots.take("acme", (await sessionWithNote(services)).id, { name: "" });
  templates.set("prepared", { ...template, snapshot: snapshotId });
  const create = (request = {}) => services.sessions.create(services.acme, aRequest({ template: "prepared", ...request }));
  await expect(create()).rejects.toMatchObject({ code: "sandbox_failed", message: "The snapshot of the template cannot be used" });
  await adoptSnapshot(services.store.db, snapshotId);
  await expect(services.snapshots.remove("acme", snapshotId)).rejects.toMatchObject({ code: "snapshot_not_found" });

  await using server = services.another({ poolSize: 1 });
  await server.start();
  const countWarm = async () => (await statesOf(services)).filter((state) => state === "warm").length;
  await expect.poll(countWarm, { timeout: 30_000 }).toBe(2);
  const warm = (await services.driver.list(deadline())).map(({ id }) => id);
  const session = await server.sessions.create(services.acme, aRequest({ template: "prepared" }));
  expect(warm).toContain(session.sandboxId);
  expect(session.setup).toBeNull();
  expect(await run(services, session.sandboxId, "cat note")).toBe("prepared\n");

  // A source of the create replaces that of the template, so that no warm sandbox fits.
  const source = await services.sessions.create(services.acme, aRequest());
  const fork = await services.snapshots.withFiles("acme", { sessionId: source.id }, (files) => create({ files }));
  expect(await run(services, fork.sandboxId, "cat note || echo empty")).toContain("empty");
  expect(fork.setup?.source).toMatchObject({ sessionId: source.id, status: "ready" });
});

test("a snapshot has the output of terminals up to now", async () => {
  await using services = await openTestSessions();
  const session = await services.sessions.create(services.acme, aRequest());
  const call = async (method: "GET" | "POST", path: string, body?: object) =>
    text((await services.links.request(session.sandboxId, { method, path, ...(body && { body: JSON.stringify(body) }) })).body);
  await call("POST", "/terminals", { command: ["sh", "-c", "echo a line of output; sleep 100"] });
  const outputBytes = async () => (JSON.parse(await call("GET", "/terminals")) as { terminals: { offset: number }[] }).terminals[0]!.offset;
  await expect.poll(outputBytes, { timeout: 30_000 }).toBeGreaterThan(0);
  await services.snapshots.withFiles("acme", { sessionId: session.id }, async (files) => {
    const copy = await services.sessions.create(services.acme, aRequest({ files }));
    expect(await run(services, copy.sandboxId, "cat ~/.berth/terminals/*.terminal")).toContain("a line of output");
  });
  expect(await services.driver.listSnapshots(deadline())).toEqual([]);
});

test("a create gets the time that its snapshot needs, and no other server takes it over", async () => {
  const copying = Promise.withResolvers<void>();
  const copied = Promise.withResolvers<void>();
  const slowly = (driver: Driver): Driver => ({
    ...driver,
    async create(spec, signal) {
      if (spec.snapshot === undefined) return driver.create(spec, signal);
      copying.resolve();
      await copied.promise;
      await driver.create(spec, signal);
    },
  });
  await using services = await openTestSessions({ wrapDriver: slowly });
  const session = await sessionWithNote(services);
  const { id: snapshotId } = await services.snapshots.take("acme", session.id, { name: "" });
  await services.store.db
    .updateTable("snapshots")
    .set({ bytes: 2 ** 30 })
    .where("id", "=", snapshotId)
    .execute();
  // This is too short for any other step.
  await using server = services.another({ stepTimeoutMs: 1 });
  await expect(server.sessions.create(services.acme, aRequest())).rejects.toMatchObject({ code: "sandbox_timeout" });
  const creating = server.sessions.create(services.acme, aRequest({ files: { snapshotId } }));
  await copying.promise;
  await services.clock.advance(MINUTE);
  const taken = await services.reconcile.finishSteps().finally(copied.resolve);
  expect(taken).toBe(0);
  expect(await run(services, (await creating).sandboxId, "cat note")).toBe("prepared\n");
});
