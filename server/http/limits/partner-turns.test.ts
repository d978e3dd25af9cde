import { afterEach, expect, test, vi } from "vitest";
import type { FairTurns } from "../../event-loop/fair-turns.ts";
import { startTestApp, type TestApp } from "../testing/test-app.ts";

let app: TestApp | undefined;
afterEach(() => app?.[Symbol.asyncDispose]());

// The test decides when each turn starts.
function createHeldTurns() {
  const waiting: { holder: string; start: () => void }[] = [];
  const turns: FairTurns = { enter: (holder, start) => waiting.push({ holder, start }) > 0 };
  return { turns, waiting };
}

test("a request does not start before its partner's turn", async () => {
  const { turns, waiting } = createHeldTurns();
  app = await startTestApp({ turns });
  const list = vi.spyOn(app.sessions, "list");
  const other = await app.addPartner("other");
  const responses = [app.call("GET", "/api/b2b/sessions"), app.call("GET", "/api/b2b/sessions", { key: other })];
  await expect.poll(() => waiting.map(({ holder }) => holder).toSorted()).toEqual(["acme", "other"]);
  expect(list).not.toHaveBeenCalled();
  for (const { start } of waiting) start();
  expect((await Promise.all(responses)).map(({ status }) => status)).toEqual([200, 200]);
});

test("a partner with too many waiting requests gets 429", async () => {
  app = await startTestApp({ turns: { enter: () => false } });
  const response = await app.call("GET", "/api/b2b/sessions");
  expect([response.status, response.headers.get("retry-after")]).toEqual([429, "1"]);
});

test("probes do not wait for a turn", async () => {
  app = await startTestApp(createHeldTurns());
  expect((await app.call("GET", "/readyz", { key: null })).status).toBe(200);
});
