import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { EventList, Session } from "@berth/contract";
import type { Process } from "@berth/contract/processes.ts";
import { startBerth, type Berth } from "../support/servers/berth.ts";
import { isHibernated } from "../support/servers/is-hibernated.ts";

let berth: Berth;
let session: Session;
beforeAll(async () => {
  berth = await startBerth();
  session = await berth.api.create();
});
afterAll(() => berth[Symbol.asyncDispose]());

const processes = (path = "") => `/sandboxes/${session.sandboxId}/processes${path}`;
const start = async (body: object) => (await berth.api.call("POST", processes(), body)).body as Process;
const change = (to: "pause" | "resume") => berth.api.call("POST", `/api/b2b/sessions/${session.sessionId}/${to}`);
const ends = async (id: string) => {
  const { data } = (await berth.api.call("GET", "/api/b2b/events?limit=100")).body as EventList;
  return data.filter(({ type, data }) => type === "process.exited" && (data as { processId?: string }).processId === id);
};

test("a process outlives its caller, a killed server and a pause, and its end is one event", async () => {
  const count =
    "for i in 1 2 3; do echo $i; sleep 0.1; done; while [ ! -e go ]; do sleep 0.1; done; for i in 4 5; do echo $i; done; exit 5";
  const { id, pid } = await start({ command: count, name: "count" });
  await berth.kill();
  await berth.start();
  expect((await change("pause")).status).toBe(200);
  const refused = await berth.api.call("GET", processes(`/${id}`));
  expect([refused.status, refused.headers.get("x-error-code")]).toEqual([409, "session_paused"]);
  expect((await change("resume")).status).toBe(200);
  expect((await berth.api.call("GET", processes(`/${id}`))).body).toMatchObject({ status: "running", pid });
  await berth.api.writeFile(session.sandboxId, "go", "");
  const ended = (await berth.api.call("POST", processes(`/${id}/wait?timeoutMs=30000`))).body as Process;
  expect(ended).toMatchObject({ status: "exited", exitCode: 5, droppedBytes: 0 });
  expect((await berth.api.call("GET", processes(`/${id}/output`))).body).toBe("1\n2\n3\n4\n5\n");
  await expect.poll(() => ends(id), { timeout: 10_000 }).toHaveLength(1);
  const [{ data }] = (await ends(id)) as [EventList["data"][number]];
  expect(data).toMatchObject({
    sessionId: session.sessionId,
    processId: id,
    name: "count",
    processStatus: "exited",
    exitCode: 5,
    signal: null,
    durationMs: expect.any(Number),
  });
  expect((data as { durationMs?: number }).durationMs).toBeGreaterThan(300);
});

test("a process that ends while the server is down is reported by the next one", async () => {
  const { id } = await start({ command: "sleep 0.5" });
  await berth.kill();
  await delay(600);
  await berth.start();
  await expect.poll(() => ends(id), { timeout: 10_000 }).toHaveLength(1);
});

test("a stream of events breaks with a pause and continues without loss", async () => {
  const { id } = await start({ command: "for i in 1 2 3 4 5 6 7 8; do echo $i; sleep 0.2; done" });
  const read = async (lastId: string | null, count: number) => {
    const answer = await fetch(`${berth.url}${processes(`/${id}/events`)}`, {
      headers: { authorization: `Bearer ${berth.key}`, ...(lastId && { "last-event-id": lastId }) },
    });
    expect(answer.headers.get("content-type")).toContain("text/event-stream");
    const events: { id: string; event: string; data: { data?: string } }[] = [];
    let text = "";
    for await (const chunk of answer.body!.pipeThrough(new TextDecoderStream())) {
      const parts = (text + chunk).split("\n\n");
      text = parts.pop() ?? "";
      for (const part of parts) {
        const [, eventId = "", event = "", data = "{}"] = /^id: (.*)\nevent: (.*)\ndata: (.*)$/.exec(part) ?? [];
        events.push({ id: eventId, event, data: JSON.parse(data) as { data?: string } });
      }
      if (events.length >= count) break;
    }
    return events;
  };
  const first = await read(null, 2);
  await change("pause");
  await change("resume");
  const rest = await read(first.at(-1)!.id, Infinity);
  expect([...first, ...rest].map(({ data }) => data.data ?? "").join("")).toBe("1\n2\n3\n4\n5\n6\n7\n8\n");
  expect(rest.at(-1)?.event).toBe("end");
});

test("a process of a session that is hibernated is lost, and its event says so", async () => {
  const { id } = await start({ command: "sleep 600" });
  await berth.stop();
  await berth.start({ BERTH_HIBERNATE_AFTER: "0" });
  await change("pause");
  await expect.poll(() => isHibernated(berth, session.sessionId), { timeout: 20_000 }).toBe(true);
  await change("resume");
  expect((await berth.api.call("GET", processes(`/${id}`))).body).toMatchObject({ status: "lost", exitCode: null });
  await expect.poll(() => ends(id), { timeout: 10_000 }).toMatchObject([{ data: { processStatus: "lost", exitCode: null } }]);
});
