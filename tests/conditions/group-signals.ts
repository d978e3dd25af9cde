import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { createApi } from "../support/servers/api.ts";
import { runNpmStart, type NpmStart } from "../support/servers/npm-start.ts";

// The end of one server whose process group got a signal.
export interface Round {
  signal: NodeJS.Signals;
  // The time from `npm start` to the signal.
  momentMs: number;
  wasReady: boolean;
  // How long the server, and npm and the shell around it, lived after the signal.
  tookMs: number;
  // The work that the server named as unfinished when its own deadline ended it.
  unfinished: string | null;
}

// A stop has 15 s, and processes need a moment to end on a busy machine.
export const GONE_MS = 17_000;
const READY_MS = 60_000;
const KEY = `berth_${"cd".repeat(32)}`;

// Starts servers with `npm start` on one data folder, one after the other, each with sandboxes that are starting when its process group
// gets a signal. At the end, the next server must serve. Rejects if a server does not start or end.
export async function signalGroups(moments: readonly number[], onRound: (round: Round) => void): Promise<void> {
  const dataDir = await mkdtemp(join(tmpdir(), "berth-signals-"));
  const start = () => runNpmStart("npm start", { BERTH_DATA_DIR: dataDir, BERTH_API_KEY: KEY, BERTH_POOL_SIZE: "2", BERTH_POOL_MAX: "2" });
  for (const [at, momentMs] of moments.entries()) {
    const server = await start();
    try {
      onRound(await signalGroup(server, at % 2 === 0 ? "SIGINT" : "SIGTERM", momentMs));
    } catch (error) {
      // Otherwise the next server uses the folder and its sandboxes.
      await server[Symbol.asyncDispose]();
      throw error;
    }
  }
  await using server = await start();
  for (const startedMs = performance.now(); !(await server.isReady()); await delay(100))
    if (performance.now() - startedMs > READY_MS) throw new Error(`the last server did not start:\n${server.output()}`);
  const api = createApi(server.url, KEY);
  const { sandboxId } = await api.create({ autoStartAgent: false });
  const { stdout } = await api.exec(sandboxId, "echo serves");
  if (stdout !== "serves\n") throw new Error(`the last server's sandbox printed ${stdout}`);
}

async function signalGroup(server: NpmStart, signal: NodeJS.Signals, momentMs: number): Promise<Round> {
  const gone = new AbortController();
  const creating = createUntilGone(server.url, gone.signal);
  await delay(momentMs);
  const wasReady = await server.isReady();
  const signalledMs = performance.now();
  server.signalGroup(signal);
  const isGone = await Promise.race([server.ended().then(() => true), delay(GONE_MS, false, { ref: false })]);
  if (!isGone) throw new Error(`the server still runs ${GONE_MS} ms after ${signal} at ${momentMs} ms:\n${server.output()}`);
  const tookMs = Math.round(performance.now() - signalledMs);
  gone.abort();
  await creating;
  return { signal, momentMs, wasReady, tookMs, unfinished: /"unfinished":(\[.*?\])/.exec(server.output())?.[1] ?? null };
}

// Creates and destroys sessions, two at a time, from the moment that the server listens until it is gone.
async function createUntilGone(url: string, gone: AbortSignal): Promise<void> {
  const api = createApi(url, KEY);
  const create = async () => {
    while (!gone.aborted) {
      try {
        const { sessionId } = await api.create({ autoStartAgent: false });
        await api.call("DELETE", `/api/b2b/sessions/${sessionId}`);
      } catch {
        // It does not listen.
        await delay(50);
      }
    }
  };
  await Promise.all([create(), create()]);
}
