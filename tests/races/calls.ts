import { once } from "node:events";
import { WebSocket } from "ws";
import type { Phase, State } from "./model.ts";
import type { Subject } from "./subject.ts";

// A call that a round makes, and what it means for a session in each state.
export interface Call {
  // Resolves to the answer: the status, followed by the error code or by what was read. Rejects if the connection breaks.
  send(subject: Subject): Promise<string>;
  phases: readonly Phase[];
  // The points at which the server can hold the call, with the id that they belong to.
  holds: readonly Hold[];
  // The contract lets a pause or a resume that meets this call answer 409 `session_busy`.
  isStep?: true;
}

export interface Hold {
  of: "session" | "sandbox" | "snapshot";
  point: string;
}

const step = (name: string): Hold[] => ["begun", "acted"].map((at) => ({ of: "session", point: `${name}.${at}` }));
const CHANGE: Hold = { of: "session", point: "change.read" };
const REQUEST: Hold = { of: "sandbox", point: "request.begun" };

const gone = (state: State) => [{ state, answer: "404 session_not_found" }];
const same = (state: State, answer: string) => [{ state, answer }];
// A phase of a session that is not destroyed.
const live =
  (phase: Phase): Phase =>
  (state) =>
    state.status === "destroyed" ? gone(state) : phase(state);
const orBusy =
  (phase: Phase): Phase =>
  (state) => [...phase(state), { state, answer: "409 session_busy" }];

// A call into the sandbox resumes a session that may be resumed, and is overtaken if the session stops afterwards.
const inSandbox = (ran: (state: State) => State, answer: (state: State) => string): Phase[] => [
  live((state) => {
    if (state.status === "running") return [{ state }];
    return state.autoResume ? [{ state: { ...state, status: "running" } }] : same(state, "409 session_paused");
  }),
  live((state) => {
    if (state.status === "running") return [{ state: ran(state), answer: answer(state) }];
    // A call that was on its way may have done its work.
    return [...same(state, "409 session_paused"), ...same(ran(state), "409 session_paused")];
  }),
];

const patch = (change: Partial<State>, body: object): Call => ({
  send: ({ call }) => call("PATCH", "", body),
  phases: [live((state) => [{ state: { ...state, ...change }, answer: "200" }])],
  holds: [CHANGE],
});

export const CALLS: Record<string, Call> = {
  get: { send: ({ call }) => call("GET", "", undefined, "status"), phases: [(state) => same(state, `200 ${state.status}`)], holds: [] },
  list: {
    send: ({ list }) => list(),
    phases: [(state) => same(state, `200 ${state.status}`)],
    holds: [],
  },
  "patch timeoutMs": patch({ timeoutMs: 7_200_000 }, { timeoutMs: 7_200_000 }),
  "patch idleTimeoutMs": patch({ idleTimeoutMs: 14_400_000 }, { idleTimeoutMs: 14_400_000 }),
  "patch metadata": patch({ note: "changed" }, { metadata: { note: "changed" } }),
  "patch onTimeout": patch({ onTimeout: "destroy" }, { onTimeout: "destroy" }),
  "patch egress": patch({ egress: "none" }, { egress: { policy: "none" }, closeConnections: true }),
  "patch autoResume": {
    send: (subject) => subject.call("PATCH", "", { autoResume: !subject.start.autoResume }),
    phases: [live((state) => [{ state: { ...state, autoResume: state.otherAutoResume }, answer: "200" }])],
    holds: [CHANGE],
  },
  pause: {
    send: ({ call }) => call("POST", "/pause"),
    phases: [
      orBusy(
        live((state) =>
          state.status === "paused"
            ? same(state, "409 session_already_paused")
            : [{ state: { ...state, status: "paused" }, answer: "200" }],
        ),
      ),
    ],
    holds: step("pausing"),
    isStep: true,
  },
  resume: {
    send: ({ call }) => call("POST", "/resume", { autoStartAgent: false }),
    phases: [
      orBusy(
        live((state) =>
          state.status === "running"
            ? same(state, "409 session_already_running")
            : [{ state: { ...state, status: "running" }, answer: "200" }],
        ),
      ),
    ],
    holds: step("resuming"),
    isStep: true,
  },
  delete: {
    send: ({ call }) => call("DELETE", ""),
    phases: [(state) => [{ state: { ...state, status: "destroyed" }, answer: "200" }]],
    holds: step("destroying"),
    isStep: true,
  },
  "launch-url": { send: ({ call }) => call("POST", "/launch-url"), phases: [live((state) => same(state, "200"))], holds: [] },
  open: {
    send: ({ open }) => open(),
    phases: [
      (state) => {
        if (state.status === "destroyed") return same(state, "410");
        return same(state.autoResume ? { ...state, status: "running" } : state, "303");
      },
    ],
    holds: step("resuming"),
    isStep: true,
  },
  exec: {
    send: ({ exec }) => exec(),
    phases: inSandbox(
      (state) => ({ ...state, runs: state.runs + 1 }),
      () => "200 exit 0",
    ),
    holds: [...step("resuming"), REQUEST],
    isStep: true,
  },
  read: {
    send: ({ read }) => read(),
    phases: inSandbox(
      (state) => state,
      ({ file }) => `200 ${file}`,
    ),
    holds: [...step("resuming"), REQUEST],
    isStep: true,
  },
  write: {
    send: ({ write }) => write("written"),
    phases: inSandbox(
      (state) => ({ ...state, file: "written" }),
      () => "200",
    ),
    holds: [...step("resuming"), REQUEST],
    isStep: true,
  },
  "start run": {
    send: ({ call }) => call("POST", "/runs", { prompt: "Work" }),
    phases: inSandbox(
      (state) => state,
      () => "201",
    ),
    holds: step("resuming"),
    isStep: true,
  },
  // A socket wakes nothing. If the session stops later, it closes.
  socket: {
    send: ({ connect }) => connect(),
    phases: [live((state) => same(state, state.status === "running" ? "101" : "409 session_paused"))],
    holds: [REQUEST],
  },
  snapshot: {
    send: ({ call, noteSnapshot }) => call("POST", "/snapshots", {}, noteSnapshot),
    phases: [live((state) => same(state, "201"))],
    holds: [{ of: "session", point: "snapshot.begun" }],
  },
  fork: {
    send: ({ create, start }) => create({ source: { sessionId: start.sessionId } }),
    phases: [live((state) => same(state, "201"))],
    holds: [{ of: "session", point: "snapshot.begun" }],
  },
  "fork snapshot": {
    send: ({ create, start }) => create({ source: { snapshotId: start.snapshotId } }),
    phases: [(state) => same(state, state.snapshot ? "201" : "404 snapshot_not_found")],
    holds: [{ of: "snapshot", point: "fork.begun" }],
  },
  "delete snapshot": {
    send: ({ deleteSnapshot }) => deleteSnapshot(),
    phases: [
      (state) => (state.snapshot ? [{ state: { ...state, snapshot: false }, answer: "200" }] : same(state, "404 snapshot_not_found")),
    ],
    holds: [{ of: "snapshot", point: "snapshot_delete.begun" }],
  },
  // The same key twice: one session, or an answer that says to wait for it.
  create: {
    send: ({ create, start }) => create({}, { "idempotency-key": start.key }),
    phases: [(state) => [...same(state, "201"), ...same(state, "409 idempotency_in_flight")]],
    holds: [],
  },
};

// Opens a WebSocket and waits until the server has accepted or refused it.
export async function openSocket(url: string, headers: Record<string, string>): Promise<{ answer: string; socket: WebSocket }> {
  const socket = new WebSocket(url, { headers });
  const refused = new Promise<string>((resolve, reject) => {
    socket.once("unexpected-response", (_request, response) => {
      response.resume();
      resolve([response.statusCode, response.headers["x-error-code"]].filter(Boolean).join(" "));
    });
    socket.once("error", reject);
  });
  const answer = await Promise.race([once(socket, "open").then(() => "101"), refused]);
  return { answer, socket };
}
