import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { CLOSE } from "@berth/contract/daemon.ts";
import type { LanguageServer } from "@berth/contract/daemon/languages.ts";
import type { WebSocket } from "ws";
import type { Environment } from "../programs/environment.ts";
import type { StartedProgram } from "../program-list/started-program.ts";
import { findServer } from "./catalogue.ts";
import { serverMemoryBytes, startServer, type ServerProcess } from "./server-process.ts";

// Runs language servers, one for each connection: the protocol knows only one client per server, and two browsers may have
// different unsaved texts.
export interface Languages {
  attach(socket: WebSocket, language: string): void;
  programs(): StartedProgram[];
  stop(): void;
}

export interface LanguagesDeps {
  environment: Environment;
  workspace: string;
}

const MAX_SERVERS = 8;
const IDLE_MS = Number(process.env.BERTH_LANGUAGE_IDLE_MS ?? 15 * 60_000);
const MAX_BUFFERED_BYTES = 4 * 1024 * 1024;

export function createLanguages({ environment, workspace }: LanguagesDeps): Languages {
  const running = new Map<ServerProcess, { socket: WebSocket; program: Omit<StartedProgram, "pid"> }>();
  process.on("exit", stop);
  return {
    attach,
    stop,
    programs: () => [...running].flatMap(([{ pid }, { program }]) => (pid === undefined ? [] : { ...program, pid })),
  };

  function stop(): void {
    for (const [server, { socket }] of running) {
      server.kill();
      socket.close(CLOSE.serverRestarting);
    }
  }

  function attach(socket: WebSocket, language: string): void {
    const env = environment.forChild();
    const { languageServers = {} } = environment.request;
    const bundled = join(import.meta.dirname, "languages");
    const found = findServer(language, { bundled, workspace, path: env.PATH ?? "", named: languageServers });
    if (!found) return socket.close(CLOSE.noLanguageServer, "No language server is installed for this language");
    if (running.size >= MAX_SERVERS) return socket.close(1013, "Too many language servers are running");

    const server = startServer({
      server: found,
      cwd: workspace,
      env: { ...env, ...languageServers[language]?.env },
      memoryBytes: serverMemoryBytes(),
      onMessage(message) {
        if (socket.readyState !== socket.OPEN) return;
        socket.send(message, { binary: false }, () => socket.bufferedAmount < MAX_BUFFERED_BYTES && server.resume());
        if (socket.bufferedAmount >= MAX_BUFFERED_BYTES) server.pause();
      },
      onDrain: () => socket.resume(),
      onEnd(reason) {
        clearTimeout(idle);
        running.delete(server);
        socket.close(CLOSE.languageServerFailed, reason.slice(0, 120));
      },
    });
    // The browser connects again when a person works on a file of this language.
    const stopIdle = () => {
      socket.close(CLOSE.languageServerIdle, "The language server was not used");
      server.kill();
    };
    running.set(server, { socket, program: { kind: "language", title: found.name, stop: stopIdle } });
    const idle = setTimeout(stopIdle, IDLE_MS);
    socket.on("close", () => server.kill());
    socket.on("message", (data: Buffer) => {
      idle.refresh();
      if (!server.send(data)) socket.pause();
    });
    const { name, initializationOptions, settings } = found;
    socket.send(JSON.stringify({ name, rootUri: pathToFileURL(workspace).href, initializationOptions, settings } satisfies LanguageServer));
  }
}
