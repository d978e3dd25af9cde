import { readdir, readFile, readlink } from "node:fs/promises";
import type { ListeningPort } from "@berth/contract/daemon.ts";
import { type Route, sendJson } from "../http/http.ts";

// Which ports programs of this sandbox listen on, read from /proc.
export interface Ports {
  routes: Route[];
  readonly last: ListeningPort[];
  // Looks again and again while somebody wants to know.
  run(yes: boolean): void;
}

export interface PortsDeps {
  // Everything that runs here has this HOME. Where sandboxes share a network (process driver), that tells whose a port is.
  home: string;
  // Ports of our own.
  hidden: () => number[];
  // Processes whose own ports are not shown, such as an agent that serves itself over one. Ports of their children are shown.
  hiddenPids: () => number[];
  changed: (ports: ListeningPort[]) => void;
}

const LOOK_EVERY_MS = 1000;

export function createPorts({ home, hidden, hiddenPids, changed }: PortsDeps): Ports {
  let last: ListeningPort[] = [];
  let timer: NodeJS.Timeout | null = null;
  const owners = new Map<string, Owner>();

  return {
    get last() {
      return last;
    },
    run(yes) {
      if (timer) clearInterval(timer);
      timer = yes ? setInterval(() => void look(), LOOK_EVERY_MS) : null;
      if (yes) void look();
    },
    routes: [
      {
        method: "GET",
        path: "/ports",
        async handle({ response }) {
          await look();
          sendJson(response, 200, { ports: last });
        },
      },
    ],
  };

  async function look(): Promise<void> {
    const sockets = await listening();
    for (const inode of owners.keys()) if (!sockets.has(inode)) owners.delete(inode);
    // Who owns a socket is looked up once; that walk over all processes is the costly part.
    if ([...sockets.keys()].some((inode) => !owners.has(inode))) await findOwners(sockets, owners, home);
    const found = new Map<number, ListeningPort>();
    for (const [inode, port] of sockets) {
      const owner = owners.get(inode);
      if (owner && !hidden().includes(port) && !hiddenPids().includes(owner.pid)) found.set(port, { port, program: owner.program });
    }
    const ports = [...found.values()].toSorted((a, b) => a.port - b.port);
    if (JSON.stringify(ports) === JSON.stringify(last)) return;
    last = ports;
    changed(ports);
  }
}

interface Owner {
  pid: number;
  program: string | null;
}

const UNKNOWN: Owner = { pid: 0, program: null };
const LISTEN = "0A";

// inode -> port
async function listening(): Promise<Map<string, number>> {
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
    if (!(await isOurs(pid, home))) continue;
    for (const fd of await readdir(`/proc/${pid}/fd`).catch(() => [])) {
      const inode = /^socket:\[(\d+)\]$/.exec(await readlink(`/proc/${pid}/fd/${fd}`).catch(() => ""))?.[1];
      if (inode !== undefined && sockets.has(inode)) owners.set(inode, { pid: Number(pid), program: await programName(pid) });
    }
  }
  // Alone in our own process space, whatever listens is ours even when it cannot be told which program it is.
  if (await isOurs("1", home)) for (const inode of sockets.keys()) if (!owners.has(inode)) owners.set(inode, UNKNOWN);
}

async function isOurs(pid: string, home: string): Promise<boolean> {
  const environ = await readFile(`/proc/${pid}/environ`, "latin1").catch(() => "");
  return environ.split("\0").includes(`HOME=${home}`);
}

async function programName(pid: string): Promise<string | null> {
  const name = await readFile(`/proc/${pid}/comm`, "utf8").catch(() => "");
  return name.trim() || null;
}
