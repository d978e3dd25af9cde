import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { newId, type SessionEvent } from "@berth/contract";
import { systemClock } from "../../clock.ts";
import { revokeKey } from "../../keys/keys.ts";
import { appendEvent } from "../../store/events.ts";
import { startTestApp, type TestApp } from "../testing/test-app.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app[Symbol.asyncDispose]());

const append = (n: number, partnerId = "acme") =>
  app.store.transaction((tx) =>
    appendEvent(tx, { partnerId, sessionId: "ses_a", type: "session.paused", at: Date.now(), data: { sessionId: "ses_a", n } }),
  );
interface Listed {
  data: (SessionEvent & { data: { n: number } })[];
  nextCursor: string | null;
}
const list = async (query = ""): Promise<Listed> => (await app.call("GET", `/api/b2b/events${query}`)).json;

describe("events", () => {
  test("continue after the given event id", async () => {
    expect(await list()).toEqual({ data: [], nextCursor: null });
    for (const n of [1, 2, 3]) await append(n);
    await append(99, "globex");
    const first = await list("?limit=2");
    expect(first.data.map(({ data }) => data.n)).toEqual([1, 2]);
    expect(first.data[0]).toEqual({
      id: expect.stringMatching(/^evt_/),
      type: "session.paused",
      timestamp: expect.stringMatching(/Z$/),
      data: { sessionId: "ses_a", n: 1 },
    });
    const second = await list(`?after=${first.nextCursor}`);
    expect(second.data.map(({ data }) => data.n)).toEqual([3]);
    expect(await list(`?after=${second.nextCursor}`)).toEqual({ data: [], nextCursor: second.nextCursor });
    // An event that is no longer stored: the list starts with the oldest event.
    expect((await list(`?after=${newId("evt", 0)}`)).data).toHaveLength(3);
    expect((await app.call("GET", "/api/b2b/events?after=x&limit=1000")).json).toMatchObject({
      details: [{ field: "limit" }, { field: "after" }],
    });
  });

  test("can be streamed, and a stream resumes after the last event id", async () => {
    const before = await list();
    await using stream = await openStream(app, { "last-event-id": before.data[0]!.id });
    expect(await stream.next(2)).toEqual([2, 3]);
    await append(4);
    expect(await stream.next(1)).toEqual([4]);
    await using live = await openStream(app);
    await append(5);
    expect(await live.next(1)).toEqual([5]);
    expect(live.headers.get("content-type")).toBe("text/event-stream");
    expect(live.headers.get("x-request-id")).toMatch(/^req_/);
    expect(live.text()).toMatch(/^retry: 2000\n\nid: evt_\w+\nevent: session.paused\ndata: \{.*\}\n\n$/);
  });

  test("a stream ends when its key is revoked and when the server stops", async () => {
    await using other = await startTestApp();
    const revoked = await openStream(other);
    await revokeKey(other.store.db, systemClock, other.keyId);
    // Keys are cached for a few seconds.
    expect(await revoked.end()).toBe("retry: 2000\n\n");
    const closing = await startTestApp();
    const open = await openStream(closing);
    await closing[Symbol.asyncDispose]();
    expect(await open.end()).toBe("retry: 2000\n\n");
  });
});

async function openStream({ base, key }: TestApp, headers: Record<string, string> = {}) {
  const response = await fetch(`${base}/api/b2b/events`, { headers: { accept: "text/event-stream", "x-api-key": key, ...headers } });
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let received = "";
  let given = 0;
  const read = async (): Promise<boolean> => {
    const { done, value } = await reader.read();
    received += value ?? "";
    return !done;
  };
  const events = () => [...received.matchAll(/^data: (.*)$/gm)].map(([, data]) => (JSON.parse(data!) as { data: { n: number } }).data.n);
  await read();
  return {
    headers: response.headers,
    text: () => received,
    async next(count: number) {
      while (events().length < given + count && (await read()));
      given += count;
      return events().slice(given - count);
    },
    async end() {
      while (await read());
      return received;
    },
    [Symbol.asyncDispose]: () => reader.cancel(),
  };
}
