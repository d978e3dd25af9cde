// The daemon: one small program in every sandbox. Read this and you have seen all of it.
import { chmodSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Health } from "@berth/contract/daemon.ts";
import { createAgentRoutes } from "./agent/routes.ts";
import { createChanges } from "./changes/changes.ts";
import { contentRoutes } from "./files/content.ts";
import { createAuthentication } from "./http/authentication.ts";
import { openEgressPipe } from "./egress/egress.ts";
import { createEnvironment } from "./processes/environment.ts";
import { createEvents, type Events } from "./http/events.ts";
import { execRoutes } from "./processes/exec.ts";
import { fileRoutes } from "./files/files.ts";
import { findRoutes } from "./search/find.ts";
import { listen } from "./http/listen.ts";
import { readJson, type Route, sendJson } from "./http/http.ts";
import { portRelay } from "./ports/port-relay.ts";
import { createPorts } from "./ports/ports.ts";
import { searchRoutes } from "./search/search.ts";
import { createDaemonServer } from "./http/server.ts";
import { createTerminals } from "./terminals/terminals.ts";
import { createWatch } from "./files/watch.ts";
import { openWorkspace } from "./files/workspace.ts";
import { reduceMemory } from "./reduce-memory.ts";

const VERSION = "0.1.0";

// Node cannot collect orphans as process 1; the shell can (init.sh). Drivers start init.sh themselves, because this
// way costs a second start of Node.
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
  const authentication = createAuthentication({ tokenHash: BERTH_TOKEN_HASH, adoptKey: BERTH_ADOPT_KEY, adoptName: BERTH_ADOPT_NAME });
  if (!BERTH_SOCKET && !BERTH_LISTEN) fail("BERTH_SOCKET or BERTH_LISTEN must say where to listen");

  const workspace = await openWorkspace(BERTH_WORKSPACE);
  const egress = openEgressPipe(BERTH_EGRESS, () => environment.request.egressPass);
  const environment = createEnvironment({ base: process.env, workspace: workspace.root, home: BERTH_HOME, proxyUrl: () => egress.url });

  const ownPorts = () => (egress.url ? [Number(new URL(egress.url).port)] : []);
  const terminals = createTerminals({
    environment,
    workspace,
    folder: join(BERTH_HOME, ".berth/terminals"),
    changed: (list) => events.send({ type: "terminals", terminals: list }),
  });
  const ports = createPorts({
    home: BERTH_HOME,
    hidden: ownPorts,
    hiddenPids: () => agent.pids(),
    changed: (list) => events.send({ type: "ports", ports: list }),
  });
  const watch = createWatch(workspace.root, (event) => events.send(event));
  const events: Events = createEvents({
    hello: () => ({ type: "hello", terminals: terminals.list(), ports: ports.last, agent: agent.state }),
    listening(yes) {
      ports.run(yes);
      watch.run(yes);
    },
  });
  const agent = createAgentRoutes({
    environment,
    workspace: workspace.root,
    folder: join(BERTH_HOME, ".berth/agent"),
    changed: (state) => events.send({ type: "agent", agent: state }),
  });
  const changes = createChanges({ workspace, environment, folder: join(BERTH_HOME, ".berth/start") });
  const relay = portRelay({ hidden: ownPorts });

  const server = createDaemonServer({
    authentication,
    routes: [
      ...controlRoutes(),
      ...execRoutes({ environment, workspace }),
      ...fileRoutes({ workspace, shown: watch.include }),
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
          changes.begin();
          terminals.started();
          agent.started();
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
