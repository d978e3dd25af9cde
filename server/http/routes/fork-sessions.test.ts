import { AppError, newId, type ForkedSessions } from "@berth/contract";
import { expect, test } from "vitest";
import { systemClock } from "../../clock.ts";
import type { Sessions } from "../../sessions/sessions.ts";
import { createMemorySessions } from "../testing/memory-sessions.ts";
import { NO_SNAPSHOTS } from "../testing/no-snapshots.ts";
import { startTestApp } from "../testing/test-app.ts";

const snapshotId = newId("snp", 1);
const body = { externalUserId: "ada", source: { snapshotId }, count: 3 };

// Sessions whose creates can be made to fail.
async function startApp(beforeCreate: () => void) {
  let sessions: Sessions | undefined;
  const find = () => (sessions ??= createMemorySessions(app.store, systemClock));
  const app = await startTestApp({
    snapshots: { ...NO_SNAPSHOTS, withFiles: (_partnerId, _from, work) => work({ snapshotId }) },
    sessions: new Proxy({} as Sessions, {
      get: (_target, name: keyof Sessions) => {
        if (name === "onChange") return () => ({ [Symbol.dispose]: () => {} });
        if (name !== "create") return find()[name];
        return (...args: Parameters<Sessions["create"]>) => {
          beforeCreate();
          return find().create(...args);
        };
      },
    }),
  });
  return app;
}

test("each of several sessions has its own result", async () => {
  let creates = 0;
  await using app = await startApp(() => {
    if (++creates === 2) throw new AppError("session_quota");
  });
  const { status, json } = await app.call("POST", "/api/b2b/sessions", { body });
  const { sessions } = json as unknown as ForkedSessions;
  expect(status).toBe(207);
  expect(sessions.filter(({ session }) => session)).toHaveLength(2);
  expect(sessions.flatMap(({ error }) => error ?? [])).toEqual([
    { code: "session_quota", message: "The limit of live sessions is reached" },
  ]);
});

test("if none can be created, the reply is the error", async () => {
  await using app = await startApp(() => {
    throw new AppError("session_quota");
  });
  expect(await app.call("POST", "/api/b2b/sessions", { body })).toMatchObject({ status: 409 });
});

test("a repetition of a request that ended halfway creates only the missing sessions", async () => {
  let isBroken = true;
  let creates = 0;
  await using app = await startApp(() => {
    if (isBroken && ++creates === 3) throw new Error("the server ends here");
  });
  const send = () => app.call("POST", "/api/b2b/sessions", { body, headers: { "idempotency-key": "three" } });
  expect(await send()).toMatchObject({ status: 500 });
  isBroken = false;
  const second = await send();
  expect(second.status).toBe(207);
  const { sessions } = second.json as unknown as ForkedSessions;
  const ids = new Set(sessions.map(({ session }) => session?.sessionId));
  const listed = (await app.call("GET", "/api/b2b/sessions")).json as unknown as { data: { sessionId: string }[] };
  expect(new Set(listed.data.map(({ sessionId }) => sessionId))).toEqual(ids);
  expect(ids.size).toBe(3);
  expect((await send()).headers.get("idempotent-replayed")).toBe("true");
});

test("if the template of the files is not configured any more, the create is refused before it copies them", async () => {
  const copied: string[] = [];
  await using app = await startTestApp({
    snapshots: {
      ...NO_SNAPSHOTS,
      templateOf: async () => "gone",
      withFiles: (_partnerId, _from, work) => (copied.push("files"), work({ snapshotId })),
    },
  });
  const response = await app.call("POST", "/api/b2b/sessions", { body });
  expect(response).toMatchObject({ status: 400, json: { details: [{ field: "template", message: "Not a configured template" }] } });
  expect(copied).toEqual([]);
});
