import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { systemClock } from "../clock.ts";
import { silentLog } from "../log.ts";
import { appendEvent } from "../store/events.ts";
import { openStore } from "../store/open.ts";
import { insertPartner } from "../store/store.suite.ts";
import { createFeed } from "./feed.ts";

test("other work runs between the batches of a long history, however fast they are read", async () => {
  const folder = mkdtempSync(join(tmpdir(), "berth-feed-"));
  await using store = await openStore({ file: join(folder, "berth.db"), log: silentLog });
  await insertPartner(store, "acme");
  await store.transaction(async (tx) => {
    for (let i = 0; i < 1_000; i++)
      await appendEvent(tx, { partnerId: "acme", sessionId: "ses_a", type: "session.paused", at: i, data: { sessionId: "ses_a" } });
  });
  using feed = createFeed({ store, sessions: { onChange: () => ({ [Symbol.dispose]() {} }) }, clock: systemClock });
  let iterations = 0;
  let counting: NodeJS.Immediate;
  const count = () => void (iterations++, (counting = setImmediate(count)));
  count();
  const stop = new AbortController();
  // Two readers, and still one batch in an iteration of the event loop.
  const read = async () => {
    let seen = 0;
    for await (const events of feed.follow("acme", 0, stop.signal)) if ((seen += events.length) === 1_000) return;
  };
  await Promise.all([read(), read()]);
  clearImmediate(counting!);
  expect(iterations).toBeGreaterThanOrEqual(18);
  rmSync(folder, { recursive: true });
});
