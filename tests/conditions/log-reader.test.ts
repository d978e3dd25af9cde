import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { runCliHere } from "../support/servers/cli.ts";
import { IN_TERMINAL, runNpmStart, type NpmStart } from "../support/servers/npm-start.ts";
import { daemonRuntime } from "../support/runtime.ts";

const PROCESS = { BERTH_DRIVER: "process", BERTH_API_KEY: `berth_${"ab".repeat(32)}` };
// More lines than a pipe holds. Dropped lines are the subject of lossy-output.test.ts.
const MANY_LINES = 600;
const PARALLEL = 50;

// Each request writes a line of the log. All must be answered.
async function request(server: NpmStart, count: number): Promise<void> {
  const statuses = new Set<number>();
  const send = async () => {
    const response = await fetch(`${server.url}/unknown`, { signal: AbortSignal.timeout(10_000) });
    await response.body?.cancel();
    statuses.add(response.status);
  };
  for (let at = 0; at < count; at += PARALLEL) await Promise.all(Array.from({ length: PARALLEL }, send));
  expect([...statuses]).toEqual([404]);
}

async function stop(server: NpmStart): Promise<void> {
  process.kill((await server.serverPid())!, "SIGTERM");
  await expect.poll(() => server.serverPid(), { timeout: 15_000 }).toBeNull();
}

test("a server whose output goes to `head` serves after `head` has left, and stops", async () => {
  await daemonRuntime();
  await using server = await runNpmStart("npm start 2>&1 | head -n 1", PROCESS);
  await expect.poll(server.isReady).toBe(true);
  await request(server, PARALLEL);
  await stop(server);
});

test("a server serves while its log's reader stands still, writes the lines when it reads again, and survives the reader", async () => {
  await daemonRuntime();
  await using server = await runNpmStart(`npm start 2>&1 | sh -c 'echo $$ > reader; exec tee log > /dev/null'`, PROCESS);
  const read = (name: string) => readFile(join(server.dataDir, name), "utf8");
  await expect.poll(server.isReady).toBe(true);
  const reader = Number(await read("reader"));

  process.kill(reader, "SIGSTOP");
  await request(server, MANY_LINES);
  process.kill(reader, "SIGCONT");
  await expect.poll(async () => (await read("log")).split("http.request").length - 1).toBeGreaterThanOrEqual(MANY_LINES);

  process.kill(reader, "SIGKILL");
  await request(server, PARALLEL);
  const readDropped = async () => {
    const metrics = await (await fetch(`${server.url}/metrics`)).text();
    return Number(/^berth_log_lines_dropped_total (\d+)$/m.exec(metrics)?.[1]);
  };
  await expect.poll(readDropped).toBeGreaterThanOrEqual(PARALLEL);
  expect(await runCliHere(server, "down", "--yes")).toMatchObject({ code: 0, stdout: expect.stringContaining("Stopped the server") });
});

test("Ctrl-S in the terminal stops the output of the server and nothing else, and Ctrl-C ends it even then", async () => {
  await daemonRuntime();
  await using server = await runNpmStart(`${IN_TERMINAL} npm start`, PROCESS);
  await expect.poll(server.isReady).toBe(true);
  await expect.poll(server.output).toContain("is running at");
  server.type("\x13");
  await request(server, PARALLEL);
  const shown = server.output().length;
  await request(server, MANY_LINES);
  expect(server.output().length).toBe(shown);
  server.type("\x11");
  await expect.poll(() => server.output().length).toBeGreaterThan(shown);

  server.type("\x13");
  await request(server, PARALLEL);
  server.type("\x03");
  await expect.poll(() => server.serverPid(), { timeout: 15_000 }).toBeNull();
});
