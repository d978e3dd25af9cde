// The daemon that runs in every sandbox. This file builds all of its parts.
import { chmodSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Health } from "@berth/contract/daemon.ts";
import { createAgentRoutes } from "./agent/routes.ts";
import { createChanges } from "./changes/changes.ts";
import { openEgressForwarder } from "./egress/egress-forwarder.ts";
import { contentRoutes } from "./files/content.ts";
import { createFileWatcher } from "./files/file-watcher.ts";
import { fileRoutes } from "./files/files.ts";
import { openWorkspace } from "./files/workspace.ts";
import { createAuthentication } from "./http/authentication.ts";
import { readJson } from "./http/body.ts";
import { createEvents, type Events } from "./http/events.ts";
import { listen } from "./http/listen.ts";
import { sendJson } from "./http/reply.ts";
import type { Route } from "./http/route.ts";
import { createDaemonServer } from "./http/server.ts";
import { createPortMonitor } from "./ports/port-monitor.ts";
import { portRelay } from "./ports/port-relay.ts";
import { createEnvironment } from "./processes/environment.ts";
import { execRoutes } from "./processes/exec.ts";
import { reduceMemory } from "./reduce-memory.ts";
import { findRoutes } from "./search/find.ts";
import { searchRoutes } from "./search/search.ts";
import { createTerminals } from "./terminals/terminals.ts";

const VERSION = "0.1.0";

// Node cannot reap orphans as process 1, but a shell can (init.sh). Drivers start init.sh directly, because replacing the
// process here costs a second start of Node.
if (process.pid === 1 && process.execve) process.execve("/bin/sh", ["sh", join(import.meta.dirname, "init.sh")], definedOnly(process.env));

main().catch((error: unknown) => fail(error instanceof Error ? error.message : String(error)));

async function main(): Promise<void> {
  reduceMemory();
  const {
    BERTH_TOKEN_HASH,
    BERTH_ADOPT_KEY,
    BERTH_ADOPT_NAME,
    BERTH_SOCKET,
    BERTH_LISTEN,
    BERTH_WORKSPACE = "/workspace",
    BERTH_HOME = "/home/user",
    BERTH_EGRESS,
  } = process.env;
  const authentication = createAuthentication({
    tokenHash: BERTH_TOKEN_HASH,
    adoptKey: BERTH_ADOPT_KEY,
    adoptName: BERTH_ADOPT_NAME,
  });
  if (!BERTH_SOCKET && !BERTH_LISTEN) fail("Set BERTH_SOCKET or BERTH_LISTEN to the address to listen on");

  const workspace = await openWorkspace(BERTH_WORKSPACE);
  const egress = openEgressForwarder(BERTH_EGRESS, () => environment.request.egressPass);
  const environment = createEnvironment({ base: process.env, workspace: workspace.root, home: BERTH_HOME, proxyUrl: () => egress.url });

  const ownPorts = () => (egress.url ? [Number(new URL(egress.url).port)] : []);
  const terminals = createTerminals({
    environment,
    workspace,
    folder: join(BERTH_HOME, ".berth/terminals"),
    onChange: (list) => events.send({ type: "terminals", terminals: list }),
  });
  const ports = createPortMonitor({
    home: BERTH_HOME,
    hiddenPorts: ownPorts,
    hiddenPids: () => agent.pids(),
    onChange: (list) => events.send({ type: "ports", ports: list }),
  });
  const watcher = createFileWatcher(workspace.root, (event) => events.send(event));
  const events: Events = createEvents({
    hello: () => ({ type: "hello", terminals: terminals.list(), ports: ports.last, agent: agent.state }),
    onFirstListener() {
      ports.start();
      watcher.start();
    },
    onLastListenerGone() {
      ports.stop();
      watcher.stop();
    },
  });
  const agent = createAgentRoutes({
    environment,
    workspace: workspace.root,
    folder: join(BERTH_HOME, ".berth/agent"),
    onStateChange: (state) => events.send({ type: "agent", agent: state }),
  });
  const changes = createChanges({ workspace, environment, folder: join(BERTH_HOME, ".berth/start") });
  const relay = portRelay({ hiddenPorts: ownPorts });

  const server = createDaemonServer({
    authentication,
    routes: [
      ...controlRoutes(),
      ...execRoutes({ environment, workspace }),
      ...fileRoutes({ workspace, onList: watcher.include }),
      ...contentRoutes({ workspace }),
      ...findRoutes({ workspace }),
      ...searchRoutes({ workspace, environment }),
      ...terminals.routes,
      ...ports.routes,
      ...agent.routes,
      ...changes.routes,
      ...relay.routes,
    ],
    upgrades: [...terminals.upgrades, ...events.upgrades, ...agent.upgrades, ...relay.upgrades],
  });
  if (BERTH_SOCKET) {
    rmSync(BERTH_SOCKET, { force: true });
    server.once("listening", () => chmodSync(BERTH_SOCKET, 0o666));
    listen(server, { path: BERTH_SOCKET });
  } else {
    const [host, port] = splitAddress(BERTH_LISTEN ?? "");
    server.listen(port, host);
  }
  server.on("error", (error) => fail(`Cannot listen: ${error.message}`));

  for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, stop);

  function stop(): void {
    terminals.stop();
    agent.stop();
    process.exit(0);
  }

  function controlRoutes(): Route[] {
    return [
      {
        method: "GET",
        path: "/health",
        handle: ({ response }) =>
          sendJson(response, 200, { status: "ok", version: VERSION, started: environment.started } satisfies Health),
      },
      {
        method: "POST",
        path: "/internal/start",
        async handle({ request, response }) {
          environment.start(await readJson(request));
          changes.onSessionStart();
          terminals.onSessionStart();
          agent.onSessionStart();
          sendJson(response, 200, { status: "ok" });
        },
      },
      {
        method: "POST",
        path: "/internal/stop",
        handle({ response }) {
          terminals.stop();
          agent.stop();
          sendJson(response, 200, { status: "ok" });
        },
      },
    ];
  }
}

function splitAddress(address: string): [host: string, port: number] {
  const colon = address.lastIndexOf(":");
  return [address.slice(0, colon).replace(/^\[|\]$/g, ""), Number(address.slice(colon + 1))];
}

function definedOnly(env: NodeJS.ProcessEnv): Record<string, string> {
  return Object.fromEntries(Object.entries(env).filter((pair): pair is [string, string] => pair[1] !== undefined));
}

function fail(message: string): never {
  console.error(message);
  process.exit(1);
}
