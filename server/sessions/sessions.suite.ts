import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { isSandboxId, isSessionId, type ErrorCode } from "@berth/contract";
import { MINUTE } from "../clock.ts";
import { type createTestClock } from "../testing/test-clock.ts";
import type { CreateRequest, Sessions, SessionView } from "./sessions.ts";

export interface SessionsUnderTest extends AsyncDisposable {
  sessions: Sessions;
  clock: ReturnType<typeof createTestClock>;
}

// The contract of the `Sessions` interface. Every implementation passes it: the real one and the fake of the HTTP tests.
export function sessionsSuite(name: string, open: () => Promise<SessionsUnderTest>): void {
  describe(`${name}: the contract of Sessions`, () => {
    let tested: SessionsUnderTest;
    let sessions: Sessions;
    beforeAll(async () => {
      tested = await open();
      sessions = tested.sessions;
    });
    afterAll(() => tested?.[Symbol.asyncDispose]());

    const create = (changes: Partial<CreateRequest> = {}) => sessions.create(ACME, { ...REQUEST, ...changes });
    const resume = (id: string) => sessions.resume("acme", id, { autoStartAgent: false });

    test("a new session is running and has everything that was requested", async () => {
      const session = await create({ externalUserId: "ada", metadata: { team: "red" } });
      expect(session).toMatchObject({ partnerId: "acme", externalUserId: "ada", status: "running", template: "default" });
      expect(session).toMatchObject({ timeoutMs: 60 * MINUTE, expiresAt: tested.clock.now() + 60 * MINUTE, stopReason: null });
      expect(JSON.parse(session.metadataJson)).toEqual({ team: "red" });
      expect([isSessionId(session.id), isSandboxId(session.sandboxId)]).toEqual([true, true]);
      expect(await sessions.get("acme", session.id)).toEqual(session);
      expect(await sessions.bySandbox(session.sandboxId)).toEqual(session);
    });

    test("pause, resume and destroy return the session that a read returns", async () => {
      const { id, sandboxId } = await create();
      const paused = await sessions.pause("acme", id);
      expect(paused).toMatchObject({ id, sandboxId, status: "paused", expiresAt: null, stopReason: "api" });
      expect(await sessions.get("acme", id)).toEqual(paused);
      const resumed = await resume(id);
      expect(resumed).toMatchObject({ id, sandboxId, status: "running", expiresAt: tested.clock.now() + 60 * MINUTE, stopReason: null });
      expect(await sessions.get("acme", id)).toEqual(resumed);
      const destroyed = await sessions.destroy("acme", id);
      expect(destroyed).toMatchObject({ id, sandboxId, status: "destroyed", expiresAt: null, stopReason: "api" });
      expect(await sessions.get("acme", id)).toEqual(destroyed);
      expect(await sessions.bySandbox(sandboxId)).toEqual(destroyed);
    });

    test("a call that does not fit the state is refused with its error code", async () => {
      const { id } = await create();
      expect(await codeOf(resume(id))).toBe("session_already_running");
      await sessions.pause("acme", id);
      expect(await codeOf(sessions.pause("acme", id))).toBe("session_already_paused");
      await sessions.destroy("acme", id);
      expect(await codeOf(sessions.pause("acme", id))).toBe("session_not_found");
      expect(await codeOf(resume(id))).toBe("session_not_found");
      expect(await codeOf(sessions.update("acme", id, { timeoutMs: MINUTE }))).toBe("session_not_found");
    });

    test("another partner's session, an unknown id and a malformed id are not found", async () => {
      const session = await create();
      for (const [partner, id] of [
        ["other", session.id],
        ["acme", `ses_${"0".repeat(26)}`],
        ["acme", "../../etc/passwd"],
      ] as const) {
        const calls = [
          sessions.get(partner, id),
          sessions.pause(partner, id),
          sessions.resume(partner, id, { autoStartAgent: false }),
          sessions.update(partner, id, {}),
          sessions.destroy(partner, id),
        ];
        expect(await Promise.all(calls.map(codeOf))).toEqual(Array.from(calls, () => "session_not_found"));
      }
      expect(await sessions.bySandbox(`sbx_${"0".repeat(26)}`)).toBeNull();
      expect(await sessions.bySandbox("nonsense")).toBeNull();
    });

    test("of concurrent pauses, one succeeds and the others conflict", async () => {
      const { id } = await create();
      const codes = await Promise.all(Array.from({ length: 5 }, () => codeOf(sessions.pause("acme", id))));
      expect(codes.filter((code) => code === "ok")).toHaveLength(1);
      expect(codes.filter((code) => code === "session_busy" || code === "session_already_paused")).toHaveLength(4);
    });

    test("quotas count live sessions, even if creates are concurrent", async () => {
      const perUser = { id: "acme", maxSessions: null, maxSessionsPerUser: 2, idleTimeoutMs: null };
      const createLimited = () => sessions.create(perUser, { ...REQUEST, externalUserId: "limited" });
      const codes = await Promise.all(Array.from({ length: 4 }, () => codeOf(createLimited())));
      expect(codes.toSorted()).toEqual(["ok", "ok", "session_quota", "session_quota"]);
      const { sessions: live } = await sessions.list("acme", { externalUserId: "limited", limit: 10 });
      await sessions.destroy("acme", live[0]!.id);
      expect(await codeOf(createLimited())).toBe("ok");
      expect(await codeOf(sessions.create({ id: "acme", maxSessions: 1, maxSessionsPerUser: null, idleTimeoutMs: null }, REQUEST))).toBe(
        "session_quota",
      );
    });

    test("record receives the changed session, and its failure undoes the change", async () => {
      const received: SessionView[] = [];
      const record = { record: async (_tx: unknown, session: SessionView) => void received.push(session) };
      const fail = { record: () => Promise.reject(new Error("the transaction fails")) };
      const created = await sessions.create(ACME, REQUEST, record);
      await expect(sessions.update("acme", created.id, { metadata: { a: "1" } }, fail)).rejects.toThrow("the transaction fails");
      expect(await sessions.get("acme", created.id)).toEqual(created);
      const updated = await sessions.update("acme", created.id, { metadata: { a: "1" } }, record);
      const destroyed = await sessions.destroy("acme", created.id, record);
      expect(received).toEqual([created, updated, destroyed]);
      // Destroying a destroyed session changes nothing, so nothing is recorded.
      expect(await sessions.destroy("acme", created.id, record)).toEqual(destroyed);
      expect(received).toHaveLength(3);
    });

    test("update replaces metadata and counts the timeout from now, or from the next resume", async () => {
      const { id } = await create({ metadata: { a: "1", b: "2" } });
      await tested.clock.advance(MINUTE);
      const updated = await sessions.update("acme", id, { timeoutMs: 5 * MINUTE, metadata: { c: "3" } });
      expect(updated).toMatchObject({ timeoutMs: 5 * MINUTE, expiresAt: tested.clock.now() + 5 * MINUTE });
      expect(JSON.parse(updated.metadataJson)).toEqual({ c: "3" });
      await sessions.pause("acme", id);
      expect(await sessions.update("acme", id, { timeoutMs: 7 * MINUTE })).toMatchObject({ timeoutMs: 7 * MINUTE, expiresAt: null });
      await tested.clock.advance(MINUTE);
      expect(await resume(id)).toMatchObject({ expiresAt: tested.clock.now() + 7 * MINUTE });
    });

    test("an idle timeout is set, changed and removed, and counts from now or from the next resume", async () => {
      const { id, idleAt } = await create({ idleTimeoutMs: 30 * MINUTE });
      expect(idleAt).toBe(tested.clock.now() + 30 * MINUTE);
      await tested.clock.advance(MINUTE);
      const changed = await sessions.update("acme", id, { idleTimeoutMs: 10 * MINUTE });
      expect(changed).toMatchObject({ idleTimeoutMs: 10 * MINUTE, idleAt: tested.clock.now() + 10 * MINUTE });
      expect(await sessions.pause("acme", id)).toMatchObject({ idleTimeoutMs: 10 * MINUTE, idleAt: null });
      expect(await sessions.update("acme", id, { idleTimeoutMs: 5 * MINUTE })).toMatchObject({ idleAt: null });
      expect(await resume(id)).toMatchObject({ idleAt: tested.clock.now() + 5 * MINUTE });
      expect(await sessions.update("acme", id, { idleTimeoutMs: null })).toMatchObject({ idleTimeoutMs: null, idleAt: null });
      expect(await create()).toMatchObject({ idleTimeoutMs: null, idleAt: null });
    });

    test("a session with autoResume wakes from a pause, and its user extends it as far as the partner allows", async () => {
      const allowed = { ...ACME, autoResume: true, maxTimeoutMs: 90 * MINUTE };
      const { id, extendUntil } = await sessions.create(allowed, REQUEST);
      expect(extendUntil).toBe(tested.clock.now() + 90 * MINUTE);
      const extended = await sessions.extend("acme", id);
      expect(extended).toMatchObject({ expiresAt: extendUntil });
      expect(await sessions.extend("acme", id)).toEqual(extended);
      expect(await sessions.pause("acme", id)).toMatchObject({ extendUntil: null });
      expect(await codeOf(sessions.extend("acme", id))).toBe("session_paused");
      expect(await sessions.wake("acme", id)).toMatchObject({ status: "running", expiresAt: tested.clock.now() + 60 * MINUTE });
      expect(await codeOf(sessions.wake("other", id))).toBe("session_not_found");
      await sessions.update("acme", id, { autoResume: false, onTimeout: "destroy" });
      expect(await sessions.pause("acme", id)).toMatchObject({ autoResume: false, onTimeout: "destroy" });
      expect(await codeOf(sessions.wake("acme", id))).toBe("session_paused");
      await sessions.destroy("acme", id);
      expect(await codeOf(sessions.wake("acme", id))).toBe("session_not_found");
    });

    test("generation and updatedAt identify every version of a session", async () => {
      const created = await create();
      const versions = [
        created,
        await sessions.update("acme", created.id, { metadata: { a: "1" } }),
        await sessions.update("acme", created.id, { metadata: { a: "2" } }),
        await sessions.pause("acme", created.id),
        await resume(created.id),
        await sessions.destroy("acme", created.id),
      ];
      expect(new Set(versions.map(({ generation, updatedAt }) => `${generation} ${updatedAt}`)).size).toBe(versions.length);
      const generations = versions.map(({ generation }) => generation);
      expect(generations).toEqual(generations.toSorted((a, b) => a - b));
    });

    test("listeners hear of every change until they are disposed", async () => {
      const { id } = await create();
      const heard: string[] = [];
      const listening = sessions.onChange((session) => void (session.id === id && heard.push(session.status)));
      await sessions.pause("acme", id);
      await resume(id);
      listening[Symbol.dispose]();
      await sessions.destroy("acme", id);
      expect([heard.includes("paused"), heard.at(-1)]).toEqual([true, "running"]);
    });

    test("a list is newest first, filtered, and continues after its last position", async () => {
      const made: SessionView[] = [];
      for (const color of ["red", "blue", "red", "red"]) {
        await tested.clock.advance(1);
        made.push(await create({ externalUserId: "lister", metadata: { color, size: "small" } }));
      }
      const [first, second, third, fourth] = made.map(({ id }) => id);
      await sessions.pause("acme", third!);
      const idsOf = async (filter: Partial<Parameters<Sessions["list"]>[1]>) =>
        (await sessions.list("acme", { externalUserId: "lister", limit: 10, ...filter })).sessions.map(({ id }) => id);
      expect(await idsOf({})).toEqual([fourth, third, second, first]);
      expect(await idsOf({ status: "running" })).toEqual([fourth, second, first]);
      expect(await idsOf({ status: "paused" })).toEqual([third]);
      expect(await idsOf({ metadata: { color: "red", size: "small" } })).toEqual([fourth, third, first]);
      expect(await idsOf({ metadata: { color: "red", size: "large" } })).toEqual([]);
      const page = await sessions.list("acme", { externalUserId: "lister", limit: 3 });
      expect([page.sessions.map(({ id }) => id), page.next]).toMatchObject([[fourth, third, second], { id: second }]);
      const rest = await sessions.list("acme", { externalUserId: "lister", limit: 3, after: page.next! });
      expect([rest.sessions.map(({ id }) => id), rest.next]).toEqual([[first], null]);
      expect((await sessions.list("other", { limit: 10 })).sessions).toEqual([]);
    });
  });
}

const ACME = { id: "acme", maxSessions: null, maxSessionsPerUser: null, idleTimeoutMs: null };

const REQUEST: CreateRequest = {
  externalUserId: "user-1",
  envVars: {},
  template: "default",
  timeoutMs: 60 * MINUTE,
  autoStartAgent: false,
  metadata: {},
};

const codeOf = (call: Promise<unknown>): Promise<ErrorCode | "ok"> =>
  call.then(
    () => "ok" as const,
    (error: { code: ErrorCode }) => error.code,
  );
