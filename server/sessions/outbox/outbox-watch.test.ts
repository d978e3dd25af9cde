import { randomBytes } from "node:crypto";
import { Readable } from "node:stream";
import { afterEach, expect, test } from "vitest";
import type { DaemonLinks } from "../../daemon-link/daemon-links.ts";
import { eventsAfter } from "../../store/events.ts";
import { aRequest, openTestSessions, type TestSessions } from "../testing/test-sessions.ts";

let services: TestSessions;
afterEach(() => services[Symbol.asyncDispose]());

const end = (id = randomBytes(12).toString("hex")) => ({
  id,
  type: "process.exited",
  data: { id: "proc_0123456789abcdef", name: "a\u001b[2Jb", status: "exited", exitCode: 0, startedAt: "2030-01-01", endedAt: "2030-01-02" },
});

// A sandbox whose outbox answers at once with whatever the test says.
async function openWithOutbox(outbox: () => unknown) {
  let reads = 0;
  const wrapLinks = (links: DaemonLinks): DaemonLinks => ({
    ...links,
    start: async (...args) => ({ ...(await links.start(...args)), hasNews: true }),
    async request(sandboxId, request) {
      if (!request.path.startsWith("/internal/outbox")) return links.request(sandboxId, request);
      if (request.method === "GET") reads++;
      const text = request.method === "GET" ? JSON.stringify(outbox()) : "";
      return { status: 200, headers: {}, body: Readable.from([Buffer.from(text)]), trailers: {} };
    },
  });
  services = await openTestSessions({ wrapLinks });
  await services.start();
  await services.sessions.create(services.acme, aRequest());
  const events = async () => (await eventsAfter(services.store.db, "acme", 0, 5000)).filter(({ type }) => type === "process.exited");
  return { events, reads: () => reads };
}

test("a report that comes again is one event, with plain text, and what is not understood is none", async () => {
  const again = end("0123456789abcdef01234567");
  const answers = [
    { entries: [again, again, null, 5, { id: "x" }, { ...end(), type: "other" }, { ...end(), data: null }], open: 1 },
    { entries: [{ ...end(), data: { ...end().data, startedAt: 7 } }], open: "many" },
    { entries: "all", open: 1 },
    { entries: [again], open: 1 },
    {},
  ];
  const { events, reads } = await openWithOutbox(() => answers.shift() ?? {});
  await expect.poll(reads).toBe(5);
  await expect
    .poll(events)
    .toMatchObject([{ data: { processId: "proc_0123456789abcdef", name: "a [2Jb", exitCode: 0, durationMs: 86_400_000 } }]);
});

test("a sandbox that reports without end is slowed down", async () => {
  const { events, reads } = await openWithOutbox(() => ({ entries: Array.from({ length: 32 }, () => end()), open: 1 }));
  await expect.poll(async () => (await events()).length, { timeout: 20_000 }).toBeGreaterThan(900);
  let before = -1;
  await expect.poll(() => before === (before = reads()), { interval: 200 }).toBe(true);
  expect((await events()).length).toBeLessThan(1200);
});
