import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import type { WebSocket } from "ws";
import type { Session } from "@berth/contract";
import { CLOSE } from "@berth/contract/daemon.ts";
import { ASK_PROXY, policyThatSaid } from "../support/servers/ask-proxy.ts";
import type { Berth } from "../support/servers/berth.ts";
import { openSocket } from "./calls.ts";
import type { State } from "./model.ts";

// The session of one round after the other. A round that destroyed it gets a new one.
export interface Subject {
  start: Start;
  // Makes a call of the API on the session and resolves to its answer. `shown` is a field of the body that belongs to the answer, or gets
  // the body.
  call(method: string, path: string, body?: object, shown?: "status" | ((body: { id: string }) => void)): Promise<string>;
  list(): Promise<string>;
  open(): Promise<string>;
  exec(): Promise<string>;
  read(): Promise<string>;
  write(content: string): Promise<string>;
  connect(): Promise<string>;
  create(body: object, headers?: Record<string, string>): Promise<string>;
  deleteSnapshot(): Promise<string>;
  noteSnapshot(body: { id: string }): void;
  // Brings the session into a state, and resolves when it is there.
  prepare(to: StartState, options: { withSnapshot: boolean }): Promise<State>;
  // The session as callers find it after a round; `undefined` where they cannot see it any more. Ends what the round has left.
  observe(): Promise<Partial<State>>;
  dispose(): Promise<void>;
}

export interface StartState {
  status: "running" | "paused" | "hibernated";
  autoResume: boolean;
}

// The session, sandbox and snapshot that the calls of a round name.
interface Start {
  sessionId: string;
  sandboxId: string;
  snapshotId: string;
  key: string;
  autoResume: boolean;
}

interface OpenedSocket {
  socket: WebSocket;
  closed: Promise<number>;
}

const SOCKET_MS = 5_000;
const TIMEOUT_MS = 3_600_000;
const IDLE_MS = 7_200_000;
// A round takes less than this.
const TOLERANCE_MS = 300_000;
const POLICY_MS = 1_000;
const RUNS = "cat runs 2>/dev/null | wc -l";

export function createSubject(berth: Berth, untilHibernated: (sessionId: string) => Promise<void>): Subject {
  const auth = { authorization: `Bearer ${berth.key}` };
  const externalUserId = `user-${randomBytes(4).toString("hex")}`;
  let session: Session | undefined;
  let launchUrl = "";
  let cookie = "";
  let start: Start = { sessionId: "", sandboxId: "", snapshotId: "", key: "", autoResume: false };
  let sockets: OpenedSocket[] = [];
  let snapshots: string[] = [];
  let created = new Set<string>();

  async function send(url: string, init: RequestInit): Promise<{ answer: string; text: string; status: number; headers: Headers }> {
    const response = await fetch(url, { redirect: "manual", ...init });
    const code = response.headers.get("x-error-code");
    const text = await response.text();
    return { answer: [response.status, code].filter(Boolean).join(" "), text, status: response.status, headers: response.headers };
  }

  const sendJson = (method: string, path: string, body?: object, headers: Record<string, string> = {}) =>
    send(`${berth.url}${path}`, {
      method,
      headers: { ...auth, ...(body && { "content-type": "application/json" }), ...headers },
      ...(body && { body: JSON.stringify(body) }),
    });

  async function must(expected: string, sent: ReturnType<typeof send>): Promise<string> {
    const { answer, text } = await sent;
    if (answer !== expected) throw new Error(`expected ${expected}, got ${answer}: ${text.slice(0, 300)}`);
    return text;
  }

  const pathOf = (rest: string) => `/api/b2b/sessions/${start.sessionId}${rest}`;
  const inSandbox = (path: string, init: { method?: string; body?: string; headers?: Record<string, string> } = {}) =>
    send(`${berth.url}/sandboxes/${start.sandboxId}${path}`, { ...init, headers: { ...auth, ...init.headers } });

  async function run(command: string): Promise<{ answer: string; output: string }> {
    const headers = { "content-type": "application/json" };
    const { answer, status: code, text } = await inSandbox("/exec", { method: "POST", headers, body: JSON.stringify({ command }) });
    if (code !== 200) return { answer, output: "" };
    const events = text
      .split("\n")
      .filter(Boolean)
      .map((line) => JSON.parse(line) as { type: string; data?: string; code?: number | string });
    const exit = events.find(({ type }) => type === "exit");
    const output = events.map(({ type, data }) => (type === "stdout" ? data : "")).join("");
    // The answer had begun when the session was paused or destroyed.
    const stopped = events.find(({ type }) => type === "error")?.code;
    const status = stopped === "session_paused" ? 409 : 404;
    return { answer: exit ? `200 exit ${exit.code}` : stopped === undefined ? "200 cut" : `${status} ${stopped}`, output };
  }

  async function make(): Promise<void> {
    session = JSON.parse(
      await must("201", sendJson("POST", "/api/b2b/sessions", { externalUserId, autoStartAgent: false, idleTimeoutMs: IDLE_MS })),
    ) as Session;
    start = { ...start, sessionId: session.sessionId, sandboxId: session.sandboxId };
    const issued = JSON.parse(await must("200", sendJson("POST", pathOf("/launch-url")))) as { url: string };
    launchUrl = issued.url;
    const opened = await send(launchUrl, {});
    cookie = opened.headers
      .getSetCookie()
      .map((line) => line.split(";", 1)[0])
      .join("; ");
  }

  const status = async () => (JSON.parse(await must("200", sendJson("GET", pathOf("")))) as { status: State["status"] }).status;

  // The policy that the proxy of the sandbox applies. It follows the row within a second.
  async function policyWithin(endMs: number, expected: State["egress"], said: string): Promise<State["egress"]> {
    const found = policyThatSaid(said);
    if (found === expected || performance.now() > endMs) return found;
    return policyWithin(endMs, expected, (await run(ASK_PROXY)).output);
  }

  async function idlePauseMs(): Promise<number | null> {
    const text = await must("200", send(`${berth.url}/workspace/${start.sandboxId}/session`, { headers: { cookie } }));
    return (JSON.parse(text) as { idlePause: { atMs: number } | null }).idlePause?.atMs ?? null;
  }

  // Finds the known timeout that ends at this time.
  const timeoutEnding = (atMs: number | null): number => {
    if (atMs === null) return Number.NaN;
    const leftMs = atMs - Date.now();
    return [TIMEOUT_MS, IDLE_MS, 2 * IDLE_MS].find((ms) => Math.abs(ms - leftMs) < TOLERANCE_MS) ?? leftMs;
  };

  return {
    get start() {
      return start;
    },
    async call(method, path, body, shown) {
      const { answer, status: code, text } = await sendJson(method, pathOf(path), body);
      if (typeof shown === "function" && code < 300) shown(JSON.parse(text) as { id: string });
      return shown === "status" && code === 200 ? `${answer} ${(JSON.parse(text) as { status: string }).status}` : answer;
    },
    async list() {
      const { answer, text } = await sendJson("GET", `/api/b2b/sessions?externalUserId=${externalUserId}`);
      const rows = (JSON.parse(text) as { data: { sessionId: string; status: string }[] }).data;
      const row = rows.find(({ sessionId }) => sessionId === start.sessionId);
      return `${answer} ${row?.status ?? "destroyed"}`;
    },
    open: async () => (await send(launchUrl, {})).answer,
    // Long enough for another call to come while it runs.
    exec: async () => (await run("echo run >> runs; sleep 0.02")).answer,
    async read() {
      const { answer, status: code, text } = await inSandbox("/files/content?path=file");
      return code === 200 ? `${answer} ${text}` : answer;
    },
    async write(content) {
      const { answer, status: code } = await inSandbox("/files/content?path=file", { method: "PUT", body: content });
      return code === 201 || code === 204 ? "200" : answer;
    },
    async connect() {
      const { answer, socket } = await openSocket(`${berth.url.replace("http", "ws")}/sandboxes/${start.sandboxId}/events`, auth);
      if (answer === "101") sockets.push({ socket, closed: once(socket, "close").then(([code]) => code as number) });
      return answer;
    },
    async create(body, headers) {
      const {
        answer,
        status: code,
        text,
      } = await sendJson("POST", "/api/b2b/sessions", { externalUserId: "round", autoStartAgent: false, ...body }, headers);
      if (code === 201) created.add((JSON.parse(text) as Session).sessionId);
      return answer;
    },
    deleteSnapshot: async () => (await sendJson("DELETE", `/api/b2b/snapshots/${start.snapshotId}`)).answer,
    noteSnapshot: ({ id }) => void snapshots.push(id),

    async prepare({ status: to, autoResume }, { withSnapshot }) {
      if (!session) await make();
      else if ((await status()) === "paused") await must("200", sendJson("POST", pathOf("/resume"), { autoStartAgent: false }));
      const { answer } = await run("rm -f runs; printf before > file");
      if (answer !== "200 exit 0") throw new Error(`the sandbox could not be prepared: ${answer}`);
      const rules = {
        timeoutMs: TIMEOUT_MS,
        idleTimeoutMs: IDLE_MS,
        metadata: { note: "before" },
        onTimeout: "pause",
        autoResume,
        egress: null,
      };
      await must("200", sendJson("PATCH", pathOf(""), rules));
      if (withSnapshot) {
        start.snapshotId = (JSON.parse(await must("201", sendJson("POST", pathOf("/snapshots"), {}))) as { id: string }).id;
        snapshots.push(start.snapshotId);
      }
      if (to !== "running") await must("200", sendJson("POST", pathOf("/pause")));
      if (to === "hibernated") await untilHibernated(start.sessionId);
      start = { ...start, autoResume, key: randomBytes(8).toString("hex") };
      return {
        status: to === "running" ? "running" : "paused",
        autoResume,
        otherAutoResume: !autoResume,
        timeoutMs: TIMEOUT_MS,
        idleTimeoutMs: IDLE_MS,
        onTimeout: "pause",
        egress: "public",
        note: "before",
        snapshot: withSnapshot,
        file: "before",
        runs: 0,
        sockets: "well",
      };
    },

    async observe() {
      const snapshot = start.snapshotId !== "" && (await sendJson("GET", `/api/b2b/snapshots/${start.snapshotId}`)).status === 200;
      for (const id of snapshots) await sendJson("DELETE", `/api/b2b/snapshots/${id}`);
      for (const id of created) await must("200", sendJson("DELETE", `/api/b2b/sessions/${id}`));
      const endings = await Promise.all(sockets.map(async (socket) => endOf(socket, (await status()) === "running")));
      const ending = endings.find((found) => found !== "well") ?? "well";
      [sockets, snapshots, created] = [[], [], new Set()];
      start = { ...start, snapshotId: "" };
      const found = JSON.parse(await must("200", sendJson("GET", `${pathOf("")}?expand=details`))) as Details;
      const { status: now, autoResume, onTimeout, metadata, idleTimeoutMs } = found;
      if (now === "destroyed") {
        session = undefined;
        return { status: now, snapshot, sockets: ending as State["sockets"] };
      }
      const facts = {
        sockets: ending as State["sockets"],
        status: now,
        autoResume,
        onTimeout,
        note: metadata.note ?? "",
        idleTimeoutMs,
        snapshot,
      };
      if (now === "paused") await must("200", sendJson("POST", pathOf("/resume"), { autoStartAgent: false }));
      const running = JSON.parse(await must("200", sendJson("GET", `${pathOf("")}?expand=details`))) as Details;
      const timeoutMs = timeoutEnding(Date.parse(running.expiresAt));
      const idleEnd = timeoutEnding(await idlePauseMs());
      const policyEndMs = performance.now() + POLICY_MS;
      const { output } = await run(`${ASK_PROXY}; ${RUNS}; cat file`);
      const [said = "", runs, file = ""] = output.split("\n");
      const egress = await policyWithin(policyEndMs, running.egress?.policy ?? "public", said);
      // A timeout that does not count is not there.
      return { ...facts, timeoutMs, idleTimeoutMs: idleEnd === idleTimeoutMs ? idleTimeoutMs : -idleEnd, egress, runs: Number(runs), file };
    },

    async dispose() {
      if (session) await sendJson("DELETE", pathOf(""));
    },
  };
}

// A socket of a session that does not run closes with the session's own code. Afterwards it is gone.
async function endOf({ socket, closed }: OpenedSocket, mayStay: boolean): Promise<string> {
  if (mayStay) socket.terminate();
  const code = await Promise.race([closed, delay(SOCKET_MS, "stayed open")]);
  socket.terminate();
  return mayStay || code === CLOSE.sessionPaused || code === CLOSE.sessionDestroyed ? "well" : `closed with ${code}`;
}

interface Details {
  status: State["status"];
  autoResume: boolean;
  onTimeout: State["onTimeout"];
  metadata: Record<string, string>;
  idleTimeoutMs: number | null;
  expiresAt: string;
  egress: { policy: State["egress"] } | null;
}
