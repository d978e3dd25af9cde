import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { CLOSE, type Terminal } from "@berth/contract/daemon.ts";
import { AppError, isAppError } from "@berth/contract/errors.ts";
import type { WorkspaceFolder } from "../files/workspace-folder.ts";
import { isStringArray, readJson } from "../http/body.ts";
import { badRequest, notFound } from "../http/errors.ts";
import { sendJson } from "../http/reply.ts";
import type { Route, UpgradeRoute } from "../http/route.ts";
import { acceptSocket } from "../http/sockets.ts";
import { isViewer } from "../http/viewers.ts";
import type { ReplaceOptions } from "../io/replace-file.ts";
import type { Environment } from "../programs/environment.ts";
import { isSize, openPty } from "../programs/pty/pty.ts";
import type { StartedProgram } from "../program-list/started-program.ts";
import { createRing, type Ring } from "./ring.ts";
import { openScrollback, type SavedTerminal } from "./scrollback.ts";
import { loginShell } from "./shell.ts";
import { createTerminal, type LiveTerminal } from "./terminal.ts";

export interface Terminals {
  routes: Route[];
  upgrades: UpgradeRoute[];
  list(): Terminal[];
  programs(): StartedProgram[];
  // These do what the routes of the same name do. `remove` is a no-op if there is no such terminal.
  create(body: Record<string, unknown>): Promise<Terminal>;
  remove(id: string): void;
  // Runs a program in a terminal of its own. `ended` resolves with its exit code, or with null if it was ended or its terminal closed.
  run(program: TerminalProgram): Promise<{ id: string; ended: Promise<number | null> }>;
  // Writes all output to disk synchronously and ends the programs, before the sandbox stops.
  stop(): void;
  // Writes the output to the scrollback files.
  save(): void;
  // If the sandbox was not stopped after `stop`, restores the terminals like a restart does.
  onSessionStart(): void;
}

export interface TerminalProgram {
  title: string;
  command: string[];
  // Override the session's variables.
  env: Record<string, string>;
}

export interface TerminalsDeps {
  environment: Environment;
  workspace: WorkspaceFolder;
  // The folder for scrollback.
  folder: string;
  onChange: (terminals: Terminal[]) => void;
}

interface Entry {
  live: LiveTerminal;
  ring: Ring;
  ended: PromiseWithResolvers<number | null>;
}

const MAX_TERMINALS = 32;
const SCROLLBACK_BYTES = 1024 * 1024;
// The limit of WebSocket is 123 bytes.
const MAX_REASON = 120;
const SAVE_EVERY_MS = 20_000;
// Resets the alternate screen, mouse and paste modes that a killed program may have left on.
const RESET_MODES = "\x1b[?1049l\x1b[?1000;1002;1003;1006;2004l\x1b[?25h\x1b[0m";
const STOPPED_NOTE = Buffer.from(`${RESET_MODES}\r\n\x1b[2m[processes were stopped while the session was paused]\x1b[0m\r\n`);

export function createTerminals({ environment, workspace, folder, onChange }: TerminalsDeps): Terminals {
  const entries = new Map<string, Entry>();
  const scrollback = openScrollback(folder);
  let stopped = false;
  for (const saved of scrollback.load()) restore(saved);
  setInterval(() => save({ sync: false }), SAVE_EVERY_MS).unref();

  return {
    list,
    programs: () => [...entries.values()].flatMap(({ live }) => live.program() ?? []),
    create,
    remove,
    async run({ env, ...program }) {
      const { id } = await create(program, env);
      return { id, ended: entries.get(id)?.ended.promise ?? Promise.resolve(null) };
    },
    save: () => save({ sync: false }),
    stop() {
      save({ sync: true });
      // From here on nothing is saved: after a restart these programs count as stopped, not as exited.
      stopped = true;
      for (const { live } of entries.values()) live.hangUp();
    },
    onSessionStart() {
      if (!stopped) return;
      stopped = false;
      for (const { live } of entries.values()) live.close(CLOSE.serverRestarting);
      entries.clear();
      for (const saved of scrollback.load()) restore(saved);
      onChange(list());
    },
    routes: [
      { method: "GET", path: "/terminals", handle: ({ response }) => sendJson(response, 200, { terminals: list() }) },
      {
        method: "POST",
        path: "/terminals",
        async handle({ request, response }) {
          sendJson(response, 201, await create(await readJson(request)));
        },
      },
      {
        method: "DELETE",
        path: "/terminals/:id",
        handle({ params: { id = "" }, response }) {
          if (!entries.has(id)) throw notFound("There is no such terminal");
          remove(id);
          response.writeHead(204).end();
        },
      },
    ],
    upgrades: [
      {
        path: "/terminals/:id",
        upgrade(call) {
          const offset = call.query.get("offset");
          acceptSocket(call, (socket) => {
            const entry = entries.get(call.params.id ?? "");
            if (!entry) return socket.close(CLOSE.terminalGone, "There is no such terminal");
            const from = offset !== null && /^\d{1,15}$/.test(offset) ? Number(offset) : null;
            if (isViewer(call.request)) return entry.live.attachViewer(socket, from);
            const failure = tryStart(entry.live);
            if (failure) return socket.close(1013, failure.message.slice(0, MAX_REASON));
            entry.live.attach(socket, from);
          });
        },
      },
    ],
  };

  function list(): Terminal[] {
    return [...entries.values()].map(({ live }) => live.describe());
  }

  async function create(body: Record<string, unknown>, env?: Record<string, string>): Promise<Terminal> {
    const { cols = 80, rows = 24, command = null, cwd = "", title = nextTitle() } = body;
    if (!isSize(cols) || !isSize(rows)) throw badRequest("cols and rows must be integers from 1 to 1000");
    if (command !== null && !isCommand(command)) throw badRequest("command must be an array of strings");
    if (typeof cwd !== "string") throw badRequest("cwd must be a string");
    if (typeof title !== "string" || title.length > 200) throw badRequest("title must be a string of at most 200 characters");
    const start = await workspace.folderPath(cwd);
    if (entries.size >= MAX_TERMINALS)
      throw new AppError("too_many", { message: `There are already ${MAX_TERMINALS} terminals; close one first` });
    const id = `term_${randomBytes(8).toString("hex")}`;
    const live = add(
      { id, title, createdAtMs: Date.now(), cols, rows, cwd: start, exit: null },
      createRing(SCROLLBACK_BYTES),
      command,
      env,
    );
    const failure = tryStart(live);
    if (failure) {
      entries.delete(id);
      throw failure;
    }
    onChange(list());
    return live.describe();
  }

  function remove(id: string): void {
    const entry = entries.get(id);
    if (!entry) return;
    entries.delete(id);
    scrollback.remove(id);
    entry.live.close(CLOSE.terminalGone);
    entry.ended.resolve(null);
    onChange(list());
  }

  function tryStart(live: LiveTerminal): AppError | null {
    try {
      live.start();
      return null;
    } catch (error) {
      if (isAppError(error)) return error;
      console.error("A terminal could not be started:", error);
      return new AppError("busy", { message: "The sandbox has reached its limit of processes" });
    }
  }

  // After a stop: the old output, a note about the stop, and a new shell when a client attaches.
  function restore({ head, output }: SavedTerminal): void {
    const ring = createRing(SCROLLBACK_BYTES, head.offset - output.length);
    ring.write(output);
    if (!head.exit) ring.write(STOPPED_NOTE);
    add({ ...head, cwd: existsSync(head.cwd) ? head.cwd : workspace.root }, ring, null);
  }

  // Without a command, it is a shell.
  function add(head: Omit<SavedTerminal["head"], "offset" | "program">, ring: Ring, command: string[] | null, env = {}): LiveTerminal {
    const ended = Promise.withResolvers<number | null>();
    const live = createTerminal({
      ...head,
      ring,
      spawn: (options) =>
        openPty({
          ...options,
          command: command ?? loginShell(),
          env: environment.forChild({ ...env, TERM: "xterm-256color", COLORTERM: "truecolor" }),
        }),
      onExit() {
        ended.resolve(live.describe().exit?.code ?? null);
        onChange(list());
      },
      onProgram: () => onChange(list()),
    });
    entries.set(head.id, { live, ring, ended });
    return live;
  }

  function save(options: ReplaceOptions): void {
    if (stopped) return;
    for (const { live, ring } of entries.values()) {
      try {
        scrollback.save({ ...live.describe(), cwd: live.workingFolder() }, ring, options);
      } catch (error) {
        // On a full disk the scrollback is lost, but the terminals keep working.
        console.error("The output of a terminal could not be saved:", error);
      }
    }
  }

  function nextTitle(): string {
    const taken = new Set(list().map((terminal) => terminal.title));
    let next = 1;
    while (taken.has(`Terminal ${next}`)) next++;
    return `Terminal ${next}`;
  }
}

const isCommand = (value: unknown): value is string[] => isStringArray(value) && Boolean(value[0]) && !value.join("").includes("\0");
