import { expect, test } from "vitest";
import { MINUTE, SECOND } from "../../clock.ts";
import { createTestClock } from "../../testing/test-clock.ts";
import { listAudit } from "../../store/partners/audit.ts";
import { startTestApp } from "../testing/test-app.ts";

test("a key has a limit per minute, and replies report what is left", async () => {
  const clock = createTestClock();
  await using app = await startTestApp({ clock, ratePerMinute: 60 });
  const call = async (key = app.key) => {
    const { status, headers } = await app.call("GET", "/api/b2b/sessions", { key });
    return [status, headers.get("ratelimit"), headers.get("retry-after")];
  };
  expect((await app.call("GET", "/api/b2b/sessions")).headers.get("ratelimit-policy")).toBe('"default";q=60;w=60');
  for (let left = 58; left >= 1; left--) expect(await call()).toEqual([200, `"default";r=${left};t=${60 - left}`, null]);
  expect(await call()).toEqual([200, '"default";r=0;t=1', null]);
  expect(await call()).toEqual([429, '"default";r=0;t=1', "1"]);
  const { text, headers } = await app.call("POST", "/api/b2b/nothing");
  expect([text, headers.get("x-error-code")]).toEqual(['{"error":"Too many requests"}', "rate_limited"]);
  await clock.advance(2 * SECOND);
  expect((await call())[0]).toBe(200);
  await clock.advance(10 * MINUTE);
  expect(await call()).toEqual([200, '"default";r=59;t=1', null]);
  // Each key has its own bucket, a partner may have its own limit, and requests without a key are not counted.
  const [generous, unlimited] = [await app.addPartner("big", { ratePerMinute: 1000 }), await app.addPartner("huge", { ratePerMinute: 0 })];
  expect((await call(generous))[1]).toBe('"default";r=999;t=1');
  expect((await call(unlimited))[1]).toBeNull();
  expect((await app.call("GET", "/api/b2b/sessions", { key: null })).headers.get("ratelimit")).toBeNull();
});

test("every change is in the audit log with key, IP address and request id", async () => {
  await using app = await startTestApp();
  const created = await app.call("POST", "/api/b2b/sessions", { body: { externalUserId: "u" } });
  const { sessionId } = created.json as { sessionId: string };
  const path = `/api/b2b/sessions/${sessionId}`;
  await app.call("POST", `${path}/pause`);
  await app.call("POST", `${path}/pause`);
  await app.call("POST", `${path}/resume`);
  await app.call("PATCH", path, { body: { metadata: {} } });
  await app.call("POST", `${path}/launch-url`);
  await app.call("DELETE", path);
  await app.call("DELETE", path);
  const entries = await listAudit(app.store.db, { partnerId: "acme", limit: 100 });
  expect(entries.map(({ action }) => action).reverse()).toEqual([
    "session.create",
    "session.pause",
    "session.resume",
    "session.update",
    "session.launch_url",
    "session.destroy",
  ]);
  const first = { actor: app.keyId, target: sessionId, ip: "127.0.0.1", requestId: created.headers.get("x-request-id") };
  expect(entries.at(-1)).toMatchObject(first);
  expect(await listAudit(app.store.db, { target: sessionId, beforeSeq: entries[1]!.seq, limit: 2 })).toEqual(entries.slice(2, 4));
  expect(await listAudit(app.store.db, { partnerId: "other", limit: 1 })).toEqual([]);
});
