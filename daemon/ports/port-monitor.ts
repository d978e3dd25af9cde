import { existsSync } from "node:fs";
import { readdir, readFile, readlink } from "node:fs/promises";
import type { ExpectedPort, ListeningPort, PortList } from "@berth/contract/daemon.ts";
import { sendJson } from "../http/reply.ts";
import type { Route } from "../http/route.ts";
import { programName } from "../programs/system/program-name.ts";

// Finds the ports that programs in this sandbox listen on, by reading /proc.
export interface PortMonitor {
  routes: Route[];
  readonly last: PortList;
  // Looks now.
  find(): Promise<OwnedPort[]>;
  // Polls until `stop`.
  start(): void;
  stop(): void;
}

export interface OwnedPort extends ListeningPort {
  // 0 if unknown.
  pid: number;
}

export interface PortMonitorDeps {
  // Every program in the sandbox has this HOME. It tells sandboxes apart that share a network (process driver).
  home: string;
  // The daemon's own ports.
  hiddenPorts: () => number[];
  // Processes whose own ports are hidden, such as an agent that serves a local API. The ports of their children are shown.
  hiddenPids: () => number[];
  // The ports that the repository names.
  expected: () => ExpectedPort[];
  onChange: (list: PortList) => void;
}

const POLL_MS = 1000;
// A socket without an owner belongs to another sandbox on the same network, or its program has just started and is not there yet.
const MAX_LOOKS = 5;

export function createPortMonitor({ home, hiddenPorts, hiddenPids, expected, onChange }: PortMonitorDeps): PortMonitor {
  let last: PortList = { ports: [] };
  let timer: NodeJS.Timeout | null = null;
  const owners = new Map<string, Owner>();
  // How often the owner of a socket was not found.
  const looks = new Map<string, number>();

  return {
    get last() {
      return last;
    },
    find,
    start() {
      timer ??= setInterval(() => void poll(), POLL_MS);
      void poll();
    },
    stop() {
      if (timer) clearInterval(timer);
      timer = null;
    },
    routes: [
      {
        method: "GET",
        path: "/ports",
        async handle({ response }) {
          await poll();
          sendJson(response, 200, last);
        },
      },
    ],
  };

  async function find(): Promise<OwnedPort[]> {
    const sockets = await listeningSockets();
    for (const [inode, { pid }] of owners) if (!sockets.has(inode) || hasEnded(pid)) owners.delete(inode);
    for (const inode of looks.keys()) if (!sockets.has(inode) || owners.has(inode)) looks.delete(inode);
    // Cache the owner of each socket, because walking all processes is expensive.
    const unknown = [...sockets.keys()].filter((inode) => !owners.has(inode) && (looks.get(inode) ?? 0) < MAX_LOOKS);
    if (unknown.length > 0) await findOwners(sockets, owners, home);
    for (const inode of unknown) looks.set(inode, (looks.get(inode) ?? 0) + 1);
    const found = new Map<number, OwnedPort>();
    for (const [inode, port] of sockets) {
      const owner = owners.get(inode);
      if (owner && !hiddenPorts().includes(port) && !hiddenPids().includes(owner.pid)) found.set(port, { port, ...owner });
    }
    return [...found.values()].toSorted((a, b) => a.port - b.port);
  }

  async function poll(): Promise<void> {
    const ports = (await find()).map(({ port, program }) => ({ port, program }));
    const named = expected();
    const list = { ports, ...(named.length > 0 && { expected: named }) };
    if (JSON.stringify(list) === JSON.stringify(last)) return;
    last = list;
    onChange(list);
  }
}

interface Owner {
  pid: number;
  program: string | null;
}

// Then another program has inherited its socket.
const hasEnded = (pid: number): boolean => pid !== 0 && !existsSync(`/proc/${pid}`);

const UNKNOWN: Owner = { pid: 0, program: null };
const LISTEN = "0A";

// Maps the inode of each listening socket to its port.
async function listeningSockets(): Promise<Map<string, number>> {
  const sockets = new Map<string, number>();
  for (const table of ["tcp", "tcp6"]) {
    const text = await readFile(`/proc/net/${table}`, "utf8").catch(() => "");
    for (const line of text.split("\n").slice(1)) {
      const [, local, , state, , , , , , inode] = line.trim().split(/\s+/);
      if (state === LISTEN && local && inode) sockets.set(inode, Number.parseInt(local.slice(local.lastIndexOf(":") + 1), 16));
    }
  }
  return sockets;
}

async function findOwners(sockets: Map<string, number>, owners: Map<string, Owner>, home: string): Promise<void> {
  const pids = (await readdir("/proc").catch(() => [])).filter((name) => /^\d+$/.test(name));
  for (const pid of pids) {
    if (!(await belongsToSandbox(pid, home))) continue;
    for (const fd of await readdir(`/proc/${pid}/fd`).catch(() => [])) {
      const inode = /^socket:\[(\d+)\]$/.exec(await readlink(`/proc/${pid}/fd/${fd}`).catch(() => ""))?.[1];
      if (inode !== undefined && sockets.has(inode)) owners.set(inode, { pid: Number(pid), program: programName(Number(pid)) });
    }
  }
  // With its own PID namespace, the sandbox owns every listening socket, even if the program cannot be identified.
  if (await belongsToSandbox("1", home)) for (const inode of sockets.keys()) if (!owners.has(inode)) owners.set(inode, UNKNOWN);
}

async function belongsToSandbox(pid: string, home: string): Promise<boolean> {
  const environ = await readFile(`/proc/${pid}/environ`, "latin1").catch(() => "");
  return environ.split("\0").includes(`HOME=${home}`);
}
