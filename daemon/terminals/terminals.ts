import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { CLOSE, type Terminal } from "@berth/contract/daemon.ts";
import { type Environment, isStringArray } from "../processes/environment.ts";
import { badRequest, Fault, notFound, readJson, type Route, sendJson, type UpgradeRoute } from "../http/http.ts";
import { openPty } from "./pty.ts";
import { createRing, type Ring } from "./ring.ts";
import { openScrollback, type SavedTerminal } from "./scrollback.ts";
import { loginShell } from "./shell.ts";
import { acceptSocket } from "../http/sockets.ts";
import { createTerminal, isSize, type LiveTerminal } from "./terminal.ts";
import type { Workspace } from "../files/workspace.ts";

export interface Terminals {
  routes: Route[];
  upgrades: UpgradeRoute[];
  list(): Terminal[];
  // Writes all output to disk, synchronously, and ends the programs: the sandbox is about to stop.
  stop(): void;
  // The stop did not come after all: the terminals come back as they do after a restart.
  started(): void;
}

export interface TerminalsDeps {
  environment: Environment;
  workspace: Workspace;
  // Where scrollback is kept.
  folder: string;
  changed: (terminals: Terminal[]) => void;
}

interface Entry {
  live: LiveTerminal;
  ring: Ring;
}

const MAX_TERMINALS = 32;
const SCROLLBACK_BYTES = 1024 * 1024;
const SAVE_EVERY_MS = 20_000;
// Leaves the other screen, mouse and paste modes that a killed program has left on.
const CALM = "\x1b[?1049l\x1b[?1000;1002;1003;1006;2004l\x1b[?25h\x1b[0m";
const STOPPED_NOTE = Buffer.from(`${CALM}\r\n\x1b[2m[processes were stopped while the session slept]\x1b[0m\r\n`);

export function createTerminals({ environment, workspace, folder, changed }: TerminalsDeps): Terminals {
  const entries = new Map<string, Entry>();
  const scrollback = openScrollback(folder);
  let stopped = false;
  for (const saved of scrollback.load()) restore(saved);
  setInterval(() => save(false), SAVE_EVERY_MS).unref();

  return {
    list,
    stop() {
      save(true);
      // What the programs still say while they end is not theirs: after a restart they count as stopped, not as exited.
      stopped = true;
      for (const { live } of entries.values()) live.hangUp();
    },
    started() {
      if (!stopped) return;
      stopped = false;
      for (const { live } of entries.values()) live.close(CLOSE.serverRestarting);
      entries.clear();
      for (const saved of scrollback.load()) restore(saved);
      changed(list());
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
          const entry = entries.get(id);
          if (!entry) throw notFound("There is no such terminal");
          entries.delete(id);
          scrollback.remove(id);
          entry.live.close(CLOSE.terminalGone);
          changed(list());
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
            if (!tryToStart(entry.live)) return socket.close(1013, "There is no room for another process");
            entry.live.attach(socket, offset !== null && /^\d{1,15}$/.test(offset) ? Number(offset) : null);
          });
        },
      },
    ],
  };

  function list(): Terminal[] {
    return [...entries.values()].map(({ live }) => live.describe());
  }

  async function create(body: Record<string, unknown>): Promise<Terminal> {
    const { cols = 80, rows = 24, command = loginShell(), cwd = "", title = nextTitle() } = body;
    if (!isSize(cols) || !isSize(rows)) throw badRequest("cols and rows must be whole numbers from 1 to 1000");
    if (!isStringArray(command) || !command[0] || command.join("").includes("\0")) throw badRequest("command must be an array of strings");
    if (typeof cwd !== "string") throw badRequest("cwd must be a string");
    if (typeof title !== "string" || title.length > 200) throw badRequest("title must be a string of at most 200 characters");
    const start = await workspace.folderPath(cwd);
    if (entries.size >= MAX_TERMINALS) throw new Fault(409, "too_many", `There are ${MAX_TERMINALS} terminals already`);
    const id = `term_${randomBytes(8).toString("hex")}`;
    const live = add({ id, title, createdAtMs: Date.now(), cols, rows, cwd: start, exit: null }, createRing(SCROLLBACK_BYTES), command);
    if (!tryToStart(live)) {
      entries.delete(id);
      throw new Fault(503, "busy", "The sandbox has no room for another process");
    }
    changed(list());
    return live.describe();
  }

  function tryToStart(live: LiveTerminal): boolean {
    try {
      live.start();
      return true;
    } catch (error) {
      console.error("A terminal could not be started:", error);
      return false;
    }
  }

  // After a stop: the old output, a word about what happened, and a fresh shell as soon as somebody looks.
  function restore({ head, output }: SavedTerminal): void {
    const ring = createRing(SCROLLBACK_BYTES, head.offset - output.length);
    ring.write(output);
    if (!head.exit) ring.write(STOPPED_NOTE);
    add({ ...head, cwd: existsSync(head.cwd) ? head.cwd : workspace.root }, ring, loginShell());
  }

  function add(head: Omit<SavedTerminal["head"], "offset">, ring: Ring, command: string[]): LiveTerminal {
    const live = createTerminal({
      ...head,
      ring,
      spawn: (options) => openPty({ ...options, command, env: environment.forChild({ TERM: "xterm-256color", COLORTERM: "truecolor" }) }),
      changed: () => changed(list()),
    });
    entries.set(head.id, { live, ring });
    return live;
  }

  function save(lasting: boolean): void {
    if (stopped) return;
    for (const { live, ring } of entries.values()) {
      try {
        scrollback.save({ ...live.describe(), cwd: live.workingFolder() }, ring, { lasting });
      } catch (error) {
        // A full disk costs the scrollback, not the terminals.
        console.error("A terminal's output could not be kept:", error);
      }
    }
  }

  function nextTitle(): string {
    const taken = new Set(list().map((terminal) => terminal.title));
    let number = 1;
    while (taken.has(`Terminal ${number}`)) number++;
    return `Terminal ${number}`;
  }
}
