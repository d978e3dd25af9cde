import { expect, test } from "vitest";
import { AppError } from "@berth/contract";
import { MINUTE } from "../../clock.ts";
import type { DiskLevel } from "../../disk-space.ts";
import { createListeners } from "../../listeners.ts";
import { findSession } from "../../store/sessions/read.ts";
import type { PartnerSession } from "../../store/sessions/session.ts";
import { openRelays } from "../relays/session-relays.ts";
import { aRequest, openTestSessions } from "../testing/test-sessions.ts";

// Sessions whose resume waits until the test lets it go on.
async function openHeld() {
  const begun = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  let isHeld = false;
  const tested = await openTestSessions({
    wrapLinks: (links) => ({
      ...links,
      async start(...args) {
        if (isHeld) {
          begun.resolve();
          await goOn.promise;
        }
        return links.start(...args);
      },
    }),
  });
  const { id } = await tested.sessions.create(tested.acme, aRequest({ idleTimeoutMs: 10 * MINUTE }));
  await tested.sessions.pause("acme", id);
  isHeld = true;
  const resuming = tested.sessions.resume("acme", id, { autoStartAgent: false });
  await begun.promise;
  return Object.assign(tested, { id, resuming, goOn: goOn.resolve });
}

test("timeouts that change during a resume count when it is done", async () => {
  await using tested = await openHeld();
  await tested.sessions.update("acme", tested.id, { timeoutMs: 2 * MINUTE, idleTimeoutMs: 30 * MINUTE });
  tested.goOn();
  const nowMs = tested.clock.now();
  expect(await tested.resuming).toMatchObject({
    status: "running",
    timeoutMs: 2 * MINUTE,
    expiresAt: nowMs + 2 * MINUTE,
    idleAt: nowMs + 30 * MINUTE,
  });
});

test("an idle timeout that is removed during a resume does not count", async () => {
  await using tested = await openHeld();
  await tested.sessions.update("acme", tested.id, { idleTimeoutMs: null });
  tested.goOn();
  expect(await tested.resuming).toMatchObject({ status: "running", idleTimeoutMs: null, idleAt: null });
});

test("changes of two relays at once are both kept", async () => {
  await using tested = await openTestSessions();
  const relays = ["ONE", "TWO"].map((name) => ({ name, upstream: "https://api.example.com", header: "authorization", value: "old" }));
  const { id } = await tested.sessions.create(tested.acme, aRequest({ relays }));
  await Promise.all(relays.map(({ name }) => tested.sessions.update("acme", id, { relayValues: [{ name, value: `new ${name}` }] })));
  const session = (await findSession(tested.store.db, id)) as PartnerSession;
  const kept = openRelays(tested.deps.secrets, session.sealedRelays, session.sandboxId);
  expect(kept.map(({ value }) => value)).toEqual(["new ONE", "new TWO"]);
});

test("a session counts as paused for a full disk when its files are written, or cannot be", async () => {
  const changes = createListeners<DiskLevel>();
  const begun = Promise.withResolvers<void>();
  const flushed = Promise.withResolvers<void>();
  let level: DiskLevel = "enough";
  await using tested = await openTestSessions({
    disk: { level: () => level, admitNew() {}, admitWrites() {}, onChange: changes.listen },
    wrapDriver: (driver) => ({
      ...driver,
      unwrittenBytes: () => 0,
      flush() {
        begun.resolve();
        return flushed.promise;
      },
    }),
  });
  await tested.start();
  const { id } = await tested.sessions.create(tested.acme, aRequest());
  const read = () => findSession(tested.store.db, id);
  level = "full";
  changes.call(level);
  await begun.promise;
  expect(await read()).toMatchObject({ state: "pausing" });
  flushed.reject(new AppError("server_disk_full"));
  await expect.poll(read).toMatchObject({ state: "paused", stopReason: "disk_full" });
});
