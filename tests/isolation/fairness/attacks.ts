import { once } from "node:events";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { newId, type Session, type SessionList } from "@berth/contract";
import { WebSocket } from "ws";
import type { Terminal } from "@berth/contract/daemon.ts";
import { createApi, type Api } from "../../support/servers/api.ts";

// An attack runs from `start` until the signal is aborted. It ignores refusals and closed sockets.
export interface Attack {
  name: string;
  // Runs before the victim is measured.
  prepare?(target: AttackTarget): Promise<void>;
  start(target: AttackTarget, signal: AbortSignal): Promise<void>;
}

export interface AttackTarget {
  serverUrl: string;
  // The hostile partner's key and one of its sandboxes.
  key: string;
  sandboxId: string;
  upstreamUrl: string;
  silentUrl: string;
  // The file of the server's database.
  database: string;
}

// Attacks from inside the sandbox. Each is a program that never ends by itself.
const PROGRAMS: Record<string, (target: AttackTarget) => string> = {
  "egress flood": ({ upstreamUrl }) => `for i in $(seq 24); do (while :; do curl -s -o /dev/null ${upstreamUrl}; done) & done; wait`,
  "egress connections": ({ upstreamUrl }) => {
    const { host } = new URL(upstreamUrl);
    return python(`
import socket, time
while True:
    held = []
    for _ in range(500):
        try:
            s = socket.create_connection(("127.0.0.1", 3128), 2); s.send(b"CONNECT ${host} HTTP/1.1\\r\\n\\r\\n"); held.append(s)
        except OSError: pass
    time.sleep(1)`);
  },
  "model flood": () =>
    `head -c 3000000 /dev/zero | tr '\\0' a | sed 's/.*/{"model":"scripted","messages":[{"role":"user","content":"&"}]}/' > /tmp/body
     for i in $(seq 16); do (while :; do curl -s -o /dev/null -H "authorization: Bearer $OPENAI_API_KEY" -H 'content-type: application/json' --data-binary @/tmp/body "$OPENAI_BASE_URL/chat/completions"; done) & done; wait`,
  "file watches": () => `mkdir -p watched; while :; do for i in $(seq 2000); do echo $i > watched/$i; done; rm -f watched/*; done`,
  "disk and files": () =>
    `while :; do head -c 20G /dev/zero > big; mkdir -p many; seq 200000 | (cd many && xargs touch) ; rm -rf big many; done 2> /dev/null`,
  processor: () => `for i in $(seq 8); do (while :; do :; done) & done; wait`,
  memory: () => `while :; do python3 -c 'held = [bytearray(16 << 20) for _ in range(1000)]'; done > /dev/null 2>&1`,
  processes: () => `bomb() { bomb | bomb & }; while :; do bomb; sleep 0.2; done > /dev/null 2>&1`,
};

export const ATTACKS: Attack[] = [
  ...Object.entries(PROGRAMS).map(([name, program]) => ({
    name,
    start: async (target: AttackTarget, signal: AbortSignal) => exec(target, program(target), signal),
  })),
  { name: "endless exec output", start: (target, signal) => repeat(4, () => exec(target, "yes", signal)) },
  { name: "terminal output", start: (target, signal) => repeat(4, () => floodTerminal(target, signal)) },
  { name: "WebSocket frames", start: (target, signal) => floodFrames(target, signal) },
  { name: "500 connections", start: (target, signal) => holdConnections(target, signal) },
  { name: "webhooks that hang", start: (target, signal) => floodWebhooks(target, signal) },
  { name: "create flood", start: (target, signal) => repeat(12, () => createAndDestroy(target, signal)) },
  { name: "destroy flood", start: (target, signal) => destroyTogether(target, signal) },
  { name: "huge lists", prepare: fillLists, start: (target, signal) => readLists(target, signal) },
];

const python = (program: string) => `python3 -c '${program}'`;

const repeat = async (times: number, work: () => Promise<void>) => void (await Promise.all(Array.from({ length: times }, work)));

// Reads the output at full speed, as a partner's backend would.
async function exec({ serverUrl, key, sandboxId }: AttackTarget, command: string, signal: AbortSignal): Promise<void> {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const url = `${serverUrl}/sandboxes/${sandboxId}/exec?format=text`;
  while (!signal.aborted) {
    await ignoreErrors(async () => {
      const response = await fetch(url, { method: "POST", headers, body: JSON.stringify({ command }), signal });
      for await (const _ of response.body ?? []);
    });
  }
}

async function openTerminal({ serverUrl, key, sandboxId }: AttackTarget, command: string[]): Promise<WebSocket> {
  const base = `/sandboxes/${sandboxId}/terminals`;
  const { body } = await createApi(serverUrl, key).call("POST", base, { cols: 200, rows: 50, command });
  const url = `${serverUrl.replace("http", "ws")}${base}/${(body as Terminal).id}`;
  const socket = new WebSocket(url, { headers: { authorization: `Bearer ${key}` } });
  socket.on("error", () => undefined);
  await once(socket, "open");
  return socket;
}

async function floodTerminal(target: AttackTarget, signal: AbortSignal): Promise<void> {
  await ignoreErrors(async () => {
    const socket = await openTerminal(target, ["yes"]);
    let seen = 0;
    socket.on("message", (data: Buffer, isBinary) => {
      if (!isBinary) return;
      seen += data.length;
      socket.send(JSON.stringify({ type: "drawn", offset: seen }));
    });
    await untilAborted(signal);
    socket.terminate();
  });
}

// Sends about 10,000 frames a second, in bursts, because timers are too coarse for single frames.
async function floodFrames(target: AttackTarget, signal: AbortSignal): Promise<void> {
  await ignoreErrors(async () => {
    const socket = await openTerminal(target, ["cat"]);
    const timer = setInterval(() => {
      if (socket.readyState === socket.OPEN && socket.bufferedAmount < 1 << 20) for (let i = 0; i < 100; i++) socket.send(Buffer.from("x"));
    }, 10);
    await untilAborted(signal);
    clearInterval(timer);
    socket.terminate();
  });
}

async function holdConnections({ serverUrl, key, sandboxId }: AttackTarget, signal: AbortSignal): Promise<void> {
  const headers = { authorization: `Bearer ${key}` };
  const url = `${serverUrl.replace("http", "ws")}/sandboxes/${sandboxId}/events`;
  const sockets = Array.from({ length: 500 }, () => new WebSocket(url, { headers }).on("error", () => undefined));
  await untilAborted(signal);
  for (const socket of sockets) socket.terminate();
}

async function floodWebhooks({ serverUrl, key, silentUrl }: AttackTarget, signal: AbortSignal): Promise<void> {
  const api = createApi(serverUrl, key);
  const ids: string[] = [];
  for (let i = 0; i < 8; i++) {
    const { body } = await api.call("POST", "/api/b2b/webhooks", { url: `${silentUrl}/${i}`, types: ["session.created"] });
    ids.push((body as { id: string }).id);
  }
  while (!signal.aborted) await Promise.all(ids.map((id) => ignoreErrors(() => api.call("POST", `/api/b2b/webhooks/${id}/test`))));
  for (const id of ids) await api.call("DELETE", `/api/b2b/webhooks/${id}`);
}

async function createAndDestroy({ serverUrl, key }: AttackTarget, signal: AbortSignal): Promise<void> {
  const api = createApi(serverUrl, key);
  while (!signal.aborted) await ignoreErrors(async () => destroy(api, await api.create({ autoStartAgent: false })));
}

// Creates sessions, then destroys them all at once.
async function destroyTogether({ serverUrl, key }: AttackTarget, signal: AbortSignal): Promise<void> {
  const api = createApi(serverUrl, key);
  while (!signal.aborted) {
    const created: Session[] = [];
    await repeat(12, () => ignoreErrors(async () => void created.push(await api.create({ autoStartAgent: false }))));
    await Promise.all(created.map((session) => destroy(api, session)));
  }
}

// Waits until it is done, so that an attack leaves nothing to the next one.
async function destroy(api: Api, { sessionId }: Session): Promise<void> {
  while ((await api.call("DELETE", `/api/b2b/sessions/${sessionId}`)).status !== 200) await sleep(20);
}

// Lists include destroyed sessions, so a partner can fill them without paying for running ones. One is real; the others are copies of
// its row, because to create a sandbox for each would take longer than the attack.
async function fillLists({ serverUrl, key, database }: AttackTarget): Promise<void> {
  const api = createApi(serverUrl, key);
  const metadata = Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`key-${i}`, "x".repeat(512)]));
  const { sessionId } = await api.create({ metadata, autoStartAgent: false });
  await api.call("DELETE", `/api/b2b/sessions/${sessionId}`);
  using store = new DatabaseSync(database, { timeout: 10_000 });
  const row = store.prepare("select * from sessions where id = ?").get(sessionId)!;
  const columns = Object.keys(row);
  const insert = store.prepare(`insert into sessions (${columns.join(", ")}) values (${columns.map(() => "?").join(", ")})`);
  for (let i = 1; i < LARGE_SESSIONS; i++)
    insert.run(...Object.values({ ...row, id: newId("ses", Date.now()), sandbox_id: newId("sbx", Date.now()) }));
  const { body } = await api.call("GET", "/api/b2b/sessions?limit=100&expand=details");
  const found = (body as SessionList).data.filter((session) => Object.keys(session.metadata ?? {}).length > 0).length;
  if (found !== LARGE_SESSIONS) throw new Error(`the list has ${found} large sessions`);
}

const LARGE_SESSIONS = 20;

async function readLists({ serverUrl, key }: AttackTarget, signal: AbortSignal): Promise<void> {
  const api = createApi(serverUrl, key);
  const read = () => ignoreErrors(() => api.call("GET", "/api/b2b/sessions?limit=100&expand=details"));
  while (!signal.aborted) await Promise.all(Array.from({ length: 16 }, read));
}

async function ignoreErrors(work: () => Promise<unknown>): Promise<void> {
  await work().catch(() => sleep(20));
}

// An attack may end before it has begun.
async function untilAborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, "abort");
}
