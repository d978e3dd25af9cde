import type { AgentState } from "@berth/contract/daemon.ts";
import { readJson, requiredText as text } from "../http/body.ts";
import { readBounded } from "../io/read-bounded.ts";
import { sendJson } from "../http/reply.ts";
import type { Pauses } from "../http/pauses.ts";
import type { Route, UpgradeRoute } from "../http/route.ts";
import { acceptSocket } from "../http/sockets.ts";
import { isViewer } from "../http/viewers.ts";
import type { Agent, AgentDeps } from "./agent.ts";
import { restingState } from "./program/availability.ts";
import { allowsViewer, attachPanel } from "./panel.ts";
import { MAX_IMAGE_BYTES } from "./prompts/image-store.ts";
import { streamPrompt } from "./prompt-stream.ts";
import { runRoutes } from "./runs/run-routes.ts";

// The agent's routes. They load the agent and its protocol library on first use, so that a session without an agent does
// not pay for them.
export interface AgentRoutes {
  routes: Route[];
  upgrades: UpgradeRoute[];
  readonly state: AgentState;
  // Applies the settings that the server has just sent.
  onSessionStart(): void;
  // Writes the conversations to disk.
  save(): void;
  // Stops the agent and writes the conversations to disk.
  stop(): void;
  // See Agent.noteSave.
  noteSave(path: string): void;
  // The process of the agent, if it is running.
  pids(): number[];
  // See Agent.ports.
  ports(): number[];
  // See Agent.idleMs.
  idleMs(): number | null;
  // The runs that have not ended.
  countRuns(): number;
}

export interface AgentRoutesDeps extends AgentDeps {
  pauses: Pick<Pauses, "isUnderWay">;
}

export function createAgentRoutes(deps: AgentRoutesDeps): AgentRoutes {
  const { environment, runs, pauses } = deps;
  let agent: Agent | null = null;
  let loading: Promise<Agent> | null = null;
  let runsWith = "";

  const load = () =>
    (loading ??= import("./agent.ts").then(({ createAgent }) => {
      agent = createAgent(deps);
      return agent;
    }));
  const state = () => agent?.state ?? restingState(environment);

  return {
    get state() {
      return state();
    },
    pids: () => agent?.pids() ?? [],
    ports: () => agent?.ports() ?? [],
    idleMs: () => agent?.idleMs() ?? null,
    onSessionStart() {
      // A resume repeats the same settings, and the agent keeps running. With other settings it must restart.
      const { agent: preferred, fallbackAgents, env } = environment.request;
      const settings = JSON.stringify([preferred, fallbackAgents, env]);
      if (settings !== runsWith) agent?.stop();
      runsWith = settings;
      const resting = restingState(environment);
      if (!agent) deps.onStateChange(resting);
      const failed = (error: unknown) => console.error("The agent could not be loaded:", error);
      if (environment.request.autoStartAgent && resting.status === "stopped") load().then((loaded) => loaded.start(), failed);
      // Those that were stopped before they began. A stop may also have been called off.
      if (agent || runs.countOpen() > 0) load().then((loaded) => loaded.runs.resume(), failed);
    },
    save: () => agent?.save(),
    noteSave: (path) => agent?.noteSave(path),
    stop() {
      if (agent) agent.runs.stop();
      else runs.loseBegun();
      agent?.stop();
      agent?.save();
    },
    countRuns: runs.countOpen,
    routes: [
      ...runRoutes({ store: runs, environment, pauses, load }),
      { method: "GET", path: "/agent", handle: ({ response }) => sendJson(response, 200, state()) },
      {
        method: "POST",
        path: "/agent/start",
        async handle({ response }) {
          if (restingState(environment).status === "stopped") (await load()).start();
          sendJson(response, 200, state());
        },
      },
      {
        method: "POST",
        path: "/agent/stop",
        handle({ response }) {
          agent?.stop();
          sendJson(response, 200, state());
        },
      },
      {
        method: "POST",
        path: "/agent/sign-in",
        async handle({ request, response }) {
          const { methodId } = await readJson(request);
          sendJson(response, 201, { terminalId: await (await load()).runner.signIn(text(methodId, "methodId")) });
        },
      },
      {
        method: "GET",
        path: "/agent/conversations",
        async handle({ response }) {
          sendJson(response, 200, { conversations: (await load()).conversations() });
        },
      },
      {
        method: "GET",
        path: "/agent/conversations/:id",
        async handle({ response, params: { id = "" } }) {
          const { live } = (await load()).thread(id);
          sendJson(response, 200, { conversation: live.head, items: [...live.items.values()] });
        },
      },
      {
        method: "DELETE",
        path: "/agent/conversations/:id",
        async handle({ response, params: { id = "" } }) {
          (await load()).remove(id);
          response.writeHead(204).end();
        },
      },
      { method: "POST", path: "/agent/prompt", handle: async (call) => await streamPrompt(await load(), environment, call) },
      {
        method: "POST",
        path: "/agent/answer",
        async handle({ request, response }) {
          const { conversationId, itemId, ...answer } = await readJson(request);
          (await load()).answer(text(conversationId, "conversationId"), text(itemId, "itemId"), answer);
          response.writeHead(204).end();
        },
      },
      {
        method: "POST",
        path: "/agent/cancel",
        async handle({ request, response }) {
          const { conversationId } = await readJson(request);
          const loaded = await load();
          await loaded.turns.cancel(loaded.thread(text(conversationId, "conversationId")));
          response.writeHead(204).end();
        },
      },
      {
        method: "POST",
        path: "/agent/images",
        async handle({ request, response }) {
          const bytes = await readBounded(request, { maxBytes: MAX_IMAGE_BYTES, tooLarge: "The image is larger than 3 MiB" });
          sendJson(response, 201, { id: await (await load()).images.add(bytes) });
        },
      },
      {
        method: "GET",
        path: "/agent/images/:id",
        async handle({ response, params: { id = "" } }) {
          const { bytes } = await (await load()).images.read(id);
          // The browser must never render it as a page of this origin.
          response.setHeader("X-Content-Type-Options", "nosniff");
          response.writeHead(200, { "Content-Type": "application/octet-stream", "Cache-Control": "private, max-age=86400" }).end(bytes);
        },
      },
    ],
    upgrades: [
      {
        path: "/agent/stream",
        async upgrade(call) {
          const loaded = await load();
          const allows = isViewer(call.request) ? allowsViewer : () => true;
          acceptSocket(call, (socket) => attachPanel(loaded, socket, allows));
        },
      },
      {
        path: "/acp",
        async upgrade(call) {
          const [loaded, { attachRemote }] = await Promise.all([load(), import("./agent.ts")]);
          acceptSocket(call, (socket) => attachRemote(loaded, socket, { workspace: deps.workspace.root }));
        },
      },
    ],
  };
}
