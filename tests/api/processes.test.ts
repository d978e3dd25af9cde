import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { EventList, Session } from "@berth/contract";
import type { Process } from "@berth/contract/daemon/processes.ts";
import { createBerth, type Berth as Client } from "../../client/index.ts";
import { createApi } from "../support/servers/api.ts";
import { startBerth, type Berth as Server } from "../support/servers/berth.ts";
import { runCli } from "../support/servers/cli.ts";
import { isHibernated } from "../support/servers/is-hibernated.ts";

let berth: Server;
let session: Session;
let client: Client;
beforeAll(async () => {
  berth = await startBerth();
  client = createBerth({ apiKey: berth.key, baseUrl: berth.url });
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
  const { tokens } = await client.sessions.get(session.sessionId);
  const { token } = await tokens.create({ scopes: ["processes"], ttlMs: 600_000 });
  await berth.kill();
  await berth.start();
  // A token outlives the server too.
  expect((await createApi(berth.url, token).call("GET", processes(`/${id}`))).status).toBe(200);
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

test("the client follows a process through a pause, without loss", async () => {
  const own = await client.sessions.get(session.sessionId);
  const process = await own.processes.start("for i in 1 2 3 4 5 6 7 8; do echo $i; sleep 0.2; done; read line; echo $line", {
    stdin: true,
  });
  let text = "";
  let isPaused = false;
  for await (const event of process.follow()) {
    if (event.type === "output") text += event.data;
    if (event.type === "end") expect(event.process).toMatchObject({ id: process.id, exitCode: 0 });
    if (text.startsWith("1\n2\n") && !isPaused) {
      isPaused = true;
      await change("pause");
      await change("resume");
    }
    if (text.endsWith("8\n")) await process.write("bye\n");
  }
  expect(text).toBe("1\n2\n3\n4\n5\n6\n7\n8\nbye\n");
  expect(await process.read({ offset: 16 })).toMatchObject({ text: "bye\n", next: 20, droppedBytes: 0 });
  expect(await process.wait()).toMatchObject({ status: "exited", exitCode: 0 });
  expect((await own.processes.list()).map(({ id }) => id)).toContain(process.id);
  const endless = await own.processes.start(["sleep", "600"]);
  await endless.signal("SIGTERM");
  expect(await endless.wait()).toMatchObject({ signal: "SIGTERM" });
  await endless.remove();
  await expect(own.processes.get(endless.id)).rejects.toMatchObject({ code: "not_found" });
});

test("the command line starts a process, shows it, and exits with its code", async () => {
  const cli = (...args: string[]) => runCli(berth, "session", ...args);
  const id = session.sessionId;
  expect(await cli("run", id, "echo out; echo err >&2; exit 4")).toEqual({ code: 4, stdout: "out\n", stderr: "err\n" });
  const started = (await cli("run", id, "--detach", "--name", "server", "--", "sleep", "600")).stdout.trim();
  expect((await cli("ps", id)).stdout).toMatch(new RegExp(`^${started} +server +running .* sleep 600$`, "m"));
  expect(await cli("stop", id, started)).toMatchObject({ code: 0 });
  expect(await cli("logs", id, started)).toMatchObject({ code: 1, stderr: expect.stringContaining("There is no such process") });
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
