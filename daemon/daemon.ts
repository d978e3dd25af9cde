// Builds all parts of the daemon.
import { join } from "node:path";
import type { Health } from "@berth/contract/daemon.ts";
import type { DaemonActivity, StartResponse } from "@berth/contract/daemon-internal.ts";
import { VERSION } from "@berth/contract/version.ts";
import { createAgentRoutes } from "./agent/routes.ts";
import { createRunStore } from "./agent/runs/run-store.ts";
import { createChanges } from "./changes/changes.ts";
import { ignoredRoutes } from "./changes/ignored.ts";
import { openEgressForwarder } from "./egress/egress-forwarder.ts";
import { createAttributes } from "./files/attributes.ts";
import { createBases } from "./files/bases.ts";
import { contentRoutes } from "./files/content.ts";
import { detailRoutes } from "./files/details.ts";
import { createFileWatcher } from "./files/file-watcher.ts";
import { createDiskUse } from "./files/disk-use.ts";
import { fileRoutes } from "./files/files.ts";
import { watchRoutes } from "./files/watch-routes.ts";
import { openWorkspaceFolder } from "./files/workspace-folder.ts";
import { gitRoutes } from "./git/routes.ts";
import { createAuthentication } from "./http/authentication.ts";
import { readJson } from "./http/body.ts";
import { createEvents, type Events } from "./http/events.ts";
import { createPauses } from "./http/pauses.ts";
import { sendJson } from "./http/reply.ts";
import type { Route } from "./http/route.ts";
import { answerRequests, type RequestSource } from "./http/server.ts";
import { createLanguageRoutes } from "./languages/routes.ts";
import { createPortMonitor } from "./ports/port-monitor.ts";
import { portRelay } from "./ports/port-relay.ts";
import { childProcess } from "./programs/child-process.ts";
import { claimFolder } from "./processes/claim-folder.ts";
import { readMemoryBytes, readProcessorMs } from "./programs/system/control-group.ts";
import { createEnvironment } from "./programs/environment.ts";
import { execRoutes } from "./processes/exec.ts";
import { openOutbox, outboxRoutes } from "./processes/outbox.ts";
import { createProcesses } from "./processes/processes.ts";
import { processRoutes } from "./processes/process-routes.ts";
import { rehearsalRoutes } from "./processes/rehearsal.ts";
import { programRoutes } from "./program-list/program-list.ts";
import { runningPrograms, stopProgram } from "./programs/program.ts";
import type { StartedProgram } from "./program-list/started-program.ts";
import { startRunning } from "./programs/running.ts";
import { stopGroup } from "./programs/system/process-group.ts";
import { findRoutes } from "./search/find.ts";
import { searchRoutes } from "./search/search.ts";
import { createSshRoutes } from "./ssh/routes.ts";
import { openSetupFiles } from "./setup/setup-files.ts";
import { createSetup } from "./setup/setup.ts";
import { watchSettings } from "./setup/settings-watch.ts";
import { createTerminals } from "./terminals/terminals.ts";
import { togetherRoutes } from "./together/together.ts";
import { trashRoutes } from "./trash/trash.ts";

export interface Daemon {
  // Ends all processes of the daemon.
  stop(): void;
  // All calls of its API: the method, `WS` for a WebSocket, and the path.
  calls: readonly (readonly [method: string, path: string])[];
}

// Answers the requests that arrive at `server`. The settings are environment variables.
export function openDaemon(env: NodeJS.ProcessEnv, server: RequestSource): Daemon {
  const {
    BERTH_TOKEN_HASH,
    BERTH_ADOPT_KEY,
    BERTH_ADOPT_NAME,
    BERTH_WORKSPACE = "/workspace",
    BERTH_HOME = "/home/user",
    BERTH_EGRESS,
  } = env;
  const authentication = createAuthentication({
    tokenHash: BERTH_TOKEN_HASH,
    adoptKey: BERTH_ADOPT_KEY,
    adoptName: BERTH_ADOPT_NAME,
  });

  const pauses = createPauses();
  const workspace = openWorkspaceFolder(BERTH_WORKSPACE);
  const bases = createBases({ workspace, home: BERTH_HOME });
  const attributes = createAttributes();
  const setupFiles = openSetupFiles(join(BERTH_HOME, ".berth/setup"));
  const egress = openEgressForwarder(BERTH_EGRESS, () => environment.request.egressToken);
  const environment = createEnvironment({
    base: env,
    workspace: workspace.root,
    home: BERTH_HOME,
    proxyUrl: () => egress.url,
    setupEnv: setupFiles.readEnv,
  });

  const ownPorts = () => [...(egress.url ? [Number(new URL(egress.url).port)] : []), ...agent.ports()];
  const terminals = createTerminals({
    environment,
    workspace,
    folder: join(BERTH_HOME, ".berth/terminals"),
    onChange: (list) => events.send({ type: "terminals", terminals: list }),
  });
  const work = join(BERTH_HOME, ".berth/work");
  const outbox = openOutbox(join(work, "outbox"));
  const processes = createProcesses({ environment, pauses, outbox, folder: work });
  const runs = createRunStore({ folder: join(work, "runs"), outbox });
  const countWork = () => processes.countRunning() + agent.countRuns();
  let hasWork = false;
  const setup = createSetup({ terminals, workspace, files: setupFiles });
  const ports = createPortMonitor({
    expected: setupFiles.readPorts,
    home: BERTH_HOME,
    hiddenPorts: ownPorts,
    hiddenPids: () => agent.pids(),
    onChange: (list) => events.send({ type: "ports", ...list }),
  });
  const settings = watchSettings(setupFiles, (chosen) => events.send({ type: "settings", settings: chosen }));
  const watcher = createFileWatcher(workspace.root, (event) => events.send(event));
  const events: Events = createEvents({
    hello: () => ({ type: "hello", terminals: terminals.list(), ...ports.last, agent: agent.state, settings: setupFiles.readSettings() }),
    onFirstListener() {
      ports.start();
      settings.start();
      watcher.start();
    },
    onLastListenerGone() {
      ports.stop();
      settings.stop();
      watcher.stop();
    },
  });
  const agent = createAgentRoutes({
    environment,
    workspace,
    folder: join(BERTH_HOME, ".berth/agent"),
    runInTerminal: terminals.run,
    onStateChange: (state) => events.send({ type: "agent", agent: state }),
    runs,
    pauses,
  });
  const changes = createChanges({ workspace, environment, folder: join(BERTH_HOME, ".berth/start") });
  const languages = createLanguageRoutes({ environment, workspace: workspace.root });
  const ssh = createSshRoutes({
    hostKeyFile: join(work, "ssh/host_key"),
    environment,
    workspace: workspace.root,
    home: BERTH_HOME,
    startRunning,
    pauses,
  });
  const diskUse = createDiskUse([BERTH_WORKSPACE, BERTH_HOME]);
  const relay = portRelay({ hiddenPorts: ownPorts });

  const routes = [
    ...controlRoutes(),
    ...execRoutes({ environment, workspace, pauses }),
    ...processRoutes(processes, bases),
    ...programRoutes({ started: startedPrograms, processes: processes.list, ports: ports.find }),
    ...outboxRoutes(outbox, countWork),
    ...rehearsalRoutes({ environment, pauses, bases, folder: join(work, "rehearsal") }),
    ...fileRoutes({ bases, onList: watcher.include }),
    ...contentRoutes({ bases, attributes, onWrite: agent.noteSave }),
    ...detailRoutes({ bases, attributes }),
    ...watchRoutes({ bases }),
    ...trashRoutes({ workspace, folder: join(BERTH_HOME, ".berth/trash") }),
    ...ignoredRoutes({ workspace, environment }),
    ...findRoutes({ workspace }),
    ...searchRoutes({ workspace, environment }),
    ...terminals.routes,
    ...setup.routes,
    ...ports.routes,
    ...agent.routes,
    ...changes.routes,
    ...gitRoutes({ workspace, environment, watch: watcher.include }),
    ...relay.routes,
    ...ssh.routes,
  ];
  const upgrades = [
    ...terminals.upgrades,
    ...events.upgrades,
    ...agent.upgrades,
    ...languages.upgrades,
    ...relay.upgrades,
    ...ssh.upgrades,
    ...togetherRoutes(),
  ];
  answerRequests(server, { authentication, routes, upgrades, pauses });

  return {
    calls: [...routes.map(({ method, path }) => [method, path] as const), ...upgrades.map(({ path }) => ["WS", path] as const)],
    stop: stopPrograms,
  };

  function startedPrograms(): StartedProgram[] {
    const { name, status } = agent.state;
    const agents = agent.pids().map((pid): StartedProgram => {
      const stop = () => {
        agent.stop();
        // An agent that has not answered yet would go on until its start fails.
        if (status === "starting") stopGroup(pid);
      };
      return { kind: "agent", title: name ?? "Agent", pid, stop };
    });
    const commands = runningPrograms().flatMap((program): StartedProgram[] => {
      const { pid, spawnargs } = program;
      return pid === undefined ? [] : [{ kind: "command", title: spawnargs, pid, stop: () => stopProgram(program) }];
    });
    return [...processes.programs(), ...terminals.programs(), ...agents, ...languages.programs(), ...ssh.programs(), ...commands];
  }

  function stopPrograms(): void {
    processes.stop();
    terminals.stop();
    agent.stop();
    languages.stop();
    ssh.stop();
  }

  // Once, when the daemon learns which sandbox this is.
  function startWork(): void {
    if (hasWork) return;
    hasWork = true;
    claimFolder(work, environment.request.sandboxId ?? "");
    outbox.load();
    processes.load();
    runs.load();
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
          pauses.end();
          startWork();
          changes.onSessionStart();
          terminals.onSessionStart();
          agent.onSessionStart();
          await setup.onSessionStart();
          const hasNews = countWork() > 0 || outbox.list().length > 0;
          sendJson(response, 200, { status: "ok", hasNews } satisfies StartResponse);
        },
      },
      {
        method: "GET",
        path: "/internal/activity",
        handle: ({ response }) =>
          sendJson(response, 200, {
            agentIdleMs: agent.idleMs(),
            cpuMs: readProcessorMs(),
            memoryBytes: readMemoryBytes(),
            diskBytes: diskUse.bytes(),
          } satisfies DaemonActivity),
      },
      {
        method: "POST",
        path: "/internal/save",
        async handle({ response }) {
          terminals.save();
          agent.save();
          // The storage of a cluster copies only what is on the disk.
          await new Promise((resolve) => childProcess().execFile("sync", ["-f", workspace.root], resolve));
          sendJson(response, 200, { status: "ok" });
        },
      },
      {
        method: "POST",
        path: "/internal/pause",
        handle({ response }) {
          pauses.begin();
          sendJson(response, 200, { status: "ok" });
        },
      },
      {
        method: "POST",
        path: "/internal/stop",
        handle({ response }) {
          stopPrograms();
          sendJson(response, 200, { status: "ok" });
        },
      },
    ];
  }
}
