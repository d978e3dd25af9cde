import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { percentile } from "../../bench/report/statistics.ts";
import { childrenMs, controlGroupMs, processorMs } from "../../bench/support/processor-time.ts";
import { describeWith, machine } from "../support/machine.ts";
import { startBerth, type Berth } from "../support/servers/berth.ts";

// The processor time of a call and of everything that it starts, as the kernel counts it. The unit is the start of a Node that does
// nothing, because that too takes longer on a slow or busy machine. Each limit is a little less than twice the median that was measured,
// so that a doubling fails. Lower a number when a change needs less.
const AT_MOST: Record<string, number> = {
  exec: 0.3,
  create: 10,
  destroy: 2,
};

// A busy machine needs more of them.
const ROUNDS = 3;
const MAX_ROUNDS = 11;
const EXECS = 20;
const IDLE_MS = 300;
// Umounting a disk goes on after the response of a destroy.
const AFTER_DESTROY_MS = 250;

describeWith(await machine.oci(), "processor time of a call", () => {
  let berth: Berth;
  beforeAll(async () => void (berth = await startBerth({ BERTH_DRIVER: "oci", BERTH_LOG_LEVEL: "error" })));
  afterAll(() => berth?.[Symbol.asyncDispose]());

  test("no call needs far more processor time than before", async () => {
    const measured: Record<string, number>[] = [];
    const median = (name: string) =>
      percentile(
        measured.map((round) => round[name]!),
        0.5,
      );
    const grown = () => Object.keys(AT_MOST).filter((name) => median(name) > AT_MOST[name]!);
    // The server finishes its start and compiles the code of the calls.
    await measureCalls(berth, 0);
    let idleShare = Infinity;
    while (measured.length < ROUNDS || (measured.length < MAX_ROUNDS && grown().length > 0)) {
      const unitMs = await emptyNodeMs();
      idleShare = Math.min(idleShare, await measureIdleShare(berth.pid()));
      const calls = await measureCalls(berth, idleShare);
      measured.push(Object.fromEntries(Object.entries(calls).map(([name, ms]) => [name, ms / unitMs])));
    }
    if (grown().length > 0) console.log("as multiples of an empty Node:", measured);
    expect(grown()).toEqual([]);
    // A counter that counts nothing would pass.
    for (const name of Object.keys(AT_MOST)) expect(median(name)).toBeGreaterThan(0);
  });
});

async function measureCalls({ api, dataDir, pid }: Berth, idleShare: number): Promise<Record<string, number>> {
  const call = async (method: string, path: string, body?: object) => {
    const response = await api.call(method, path, body);
    expect(response.status).toBeLessThan(300);
    return response.body as { sessionId: string; sandboxId: string };
  };
  const server = pid();
  const hostMs = () => processorMs(server) + childrenMs(server);
  // Does not count the time of the server's timers.
  const measure = async <Result>(usedMs: () => number, work: () => Promise<Result>): Promise<[ms: number, result: Result]> => {
    const [beforeMs, startedMs] = [usedMs(), performance.now()];
    const result = await work();
    return [Math.max(0, usedMs() - beforeMs - idleShare * (performance.now() - startedMs)), result];
  };
  const [createdMs, session] = await measure(hostMs, () =>
    call("POST", "/api/b2b/sessions", { externalUserId: "user-1", autoStartAgent: false }),
  );
  const init = Number(readFileSync(join(dataDir, "sandboxes", session.sandboxId, "init.pid"), "utf8"));
  const sandboxMs = () => controlGroupMs(init);
  const startedMs = sandboxMs();
  const exec = () => call("POST", `/sandboxes/${session.sandboxId}/exec`, { command: "true" });
  // The first calls compile their code.
  for (let i = 0; i < EXECS / 2; i++) await exec();
  const [execsMs] = await measure(
    () => processorMs(server) + sandboxMs(),
    async () => {
      for (let i = 0; i < EXECS; i++) await exec();
    },
  );
  const [destroyMs] = await measure(hostMs, async () => {
    await call("DELETE", `/api/b2b/sessions/${session.sessionId}`);
    await sleep(AFTER_DESTROY_MS);
  });
  return { exec: execsMs / EXECS, create: createdMs + startedMs, destroy: destroyMs };
}

// The share of a processor that the server's timers use.
async function measureIdleShare(server: number): Promise<number> {
  const [beforeMs, startedMs] = [processorMs(server), performance.now()];
  await sleep(IDLE_MS);
  return (processorMs(server) - beforeMs) / (performance.now() - startedMs);
}

async function emptyNodeMs(): Promise<number> {
  const script = "const { user, system } = process.cpuUsage(); console.log(user + system)";
  const { stdout } = await promisify(execFile)(process.execPath, ["--eval", script]);
  return Number(stdout) / 1000;
}
