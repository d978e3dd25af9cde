import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import type { EgressPolicy, SandboxId } from "@berth/contract";
import type { Templates } from "../templates.ts";
import { createDoorMaker, type DoorMakerOptions, type EgressCounters, type SandboxDoor } from "./door-maker.ts";
import type { Egress } from "./egress.ts";
import type { PassHolder, Passes } from "./passes.ts";

export interface NetworkEgressOptions extends DoorMakerOptions {
  // host:port
  listen: string;
  passes: Passes;
  templates: Templates;
}

export interface NetworkEgress extends Egress {
  pass(holder: PassHolder): string;
  readonly port: number;
}

const MAX_PASS_BYTES = 512;
const PASS_TIMEOUT_MS = 5_000;

// The way out for sandboxes that run on other machines: one TCP port for all of them. A connection begins with a line that
// holds the sandbox's pass; what follows goes to that sandbox's proxy, as on its Unix socket. Any server serves any sandbox.
export async function createNetworkEgress(options: NetworkEgressOptions): Promise<NetworkEgress> {
  const { listen, passes, templates } = options;
  const counters: EgressCounters = { allowed: 0, refused: 0 };
  const makeDoor = createDoorMaker(options, counters);
  const doors = new Map<SandboxId, SandboxDoor & { sockets: Set<Socket> }>();
  const sockets = new Set<Socket>();

  function openDoor(sandboxId: SandboxId, policy: EgressPolicy) {
    const entry = { ...makeDoor(sandboxId, policy), sockets: new Set<Socket>() };
    // An HTTP server looks after its timeouts only once it listens, which this one never does itself.
    entry.door.emit("listening");
    doors.set(sandboxId, entry);
    return entry;
  }

  function admit(socket: Socket, pass: string): void {
    const holder = passes.check(pass);
    const template = holder && templates.get(holder.template);
    if (!template) return void socket.destroy();
    const entry = doors.get(holder.sandboxId) ?? openDoor(holder.sandboxId, template.egress);
    entry.sockets.add(socket);
    socket.once("close", () => {
      entry.sockets.delete(socket);
      if (entry.sockets.size > 0) return;
      doors.delete(holder.sandboxId);
      entry.door.close();
    });
    // A door that listens nowhere does not count its connections itself.
    if (!entry.flood.take() || entry.sockets.size > (options.maxConnections ?? 256)) return void socket.destroy();
    entry.door.emit("connection", socket);
  }

  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
    socket.on("error", () => socket.destroy());
    readLine(socket, (line) => (line === null ? socket.destroy() : admit(socket, line)));
  });
  const colon = listen.lastIndexOf(":");
  server.listen(Number(listen.slice(colon + 1)), listen.slice(0, colon).replace(/^\[|\]$/g, ""));
  await once(server, "listening");

  return {
    counters,
    get port() {
      const address = server.address();
      return typeof address === "object" && address ? address.port : 0;
    },
    pass: (holder) => passes.issue(holder),
    // A pass is enough: there is nothing to prepare for a sandbox.
    async open() {},
    async close(sandboxId) {
      for (const socket of doors.get(sandboxId)?.sockets ?? []) socket.destroy();
    },
    async [Symbol.asyncDispose]() {
      const closed = once(server, "close");
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

// The first line, without its end; what came behind it stays in the socket. null when there is none in time and bounds.
function readLine(socket: Socket, done: (line: string | null) => void): void {
  let seen = Buffer.alloc(0);
  const timer = setTimeout(() => finish(null), PASS_TIMEOUT_MS);
  const finish = (line: string | null) => {
    clearTimeout(timer);
    socket.off("readable", onReadable).off("end", onEnd);
    done(line);
  };
  const onEnd = () => finish(null);
  const onReadable = () => {
    const chunk = socket.read() as Buffer | null;
    if (chunk === null) return;
    seen = Buffer.concat([seen, chunk]);
    const end = seen.indexOf("\n");
    if (end < 0) return seen.length > MAX_PASS_BYTES ? finish(null) : undefined;
    if (end + 1 < seen.length) socket.unshift(seen.subarray(end + 1));
    finish(seen.subarray(0, end).toString("latin1"));
  };
  socket.on("readable", onReadable).on("end", onEnd);
}
