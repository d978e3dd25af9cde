import { chmodSync } from "node:fs";
import { type AddressInfo, createConnection, createServer, type Server, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Channel, Connection } from "ssh2";
import { type Cover, runCovered } from "../http/boundary.ts";
import { listen } from "../http/listen.ts";

export interface ForwardDeps {
  transport: Duplex;
  cover: Cover;
  // Prepares a channel for use.
  open<Opened extends Channel>(channel: Opened): Opened;
  mayOpen(): boolean;
  // Counts a channel until the result is called.
  take(): () => void;
}

const MAX_LISTENERS = 16;
const CONNECT_MS = 10_000;
const MAX_SOCKET_PATH = 107;
const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|::1)$/i;

// Forwards connections between the client and loopback or Unix sockets in the sandbox, in both directions.
export function serveForwards(client: Connection, { open, mayOpen, take, transport, cover }: ForwardDeps): void {
  const listeners = new Map<string, Server>();
  let binding = 0;
  transport.once("close", () => {
    for (const server of listeners.values()) server.close();
  });

  client.on("tcpip", (accept, reject, { destIP, destPort }) => {
    // The sandbox's way out is its proxy, and no other host is reached from it.
    if (!LOOPBACK.test(destIP)) return reject();
    // Servers listen on either address; many resolve `localhost` to ::1.
    const hosts = /^localhost$/i.test(destIP) ? ["127.0.0.1", "::1"] : [destIP];
    connect(
      hosts.map((host) => ({ host, port: destPort })),
      accept,
      reject,
    );
  });
  client.on("openssh.streamlocal", (accept, reject, { socketPath }) => {
    if (!isSocketPath(socketPath)) return reject();
    connect([{ path: socketPath }], accept, reject);
  });
  client.on("request", (accept, reject, name: string, info) => {
    const { bindAddr = "", bindPort = 0, socketPath = "" } = info as { bindAddr?: string; bindPort?: number; socketPath?: string };
    if (name === "cancel-tcpip-forward") return cancel(`${bindAddr}:${bindPort}`);
    if (name === "cancel-streamlocal-forward@openssh.com") return cancel(socketPath);
    if (listeners.size + binding >= MAX_LISTENERS) return reject?.();
    if (name === "tcpip-forward") {
      const server = createServer((socket) => {
        const { remoteAddress = "127.0.0.1", remotePort = 0 } = socket;
        offer(socket, (done) => client.forwardOut(bindAddr, portOf(server), remoteAddress, remotePort, done));
      });
      return bind(server, { host: "127.0.0.1", port: bindPort }, () => {
        listeners.set(`${bindAddr}:${portOf(server)}`, server);
        (accept as ((port: number) => void) | undefined)?.(portOf(server));
      });
    }
    if (name !== "streamlocal-forward@openssh.com" || !isSocketPath(socketPath)) return reject?.();
    const server = createServer((socket) => offer(socket, (done) => client.openssh_forwardOutStreamLocal(socketPath, done)));
    bind(server, { path: socketPath }, () => {
      chmodSync(socketPath, 0o600);
      listeners.set(socketPath, server);
      accept?.();
    });

    function bind(listening: Server, address: Parameters<typeof listen>[1], bound: () => void): void {
      binding++;
      const done = (act: () => void) => () => {
        binding--;
        listening
          .off("error", failed)
          .off("listening", succeeded)
          .on("error", () => {});
        act();
      };
      const failed = done(() => reject?.());
      const succeeded = done(() => (transport.destroyed ? void listening.close() : bound()));
      listening.on("error", failed).on("listening", succeeded);
      listen(listening, address);
    }

    function cancel(key: string): void {
      const server = listeners.get(key);
      if (!server) return reject?.();
      listeners.delete(key);
      server.close();
      accept?.();
    }
  });

  type Address = { host: string; port: number } | { path: string };

  function connect([first, ...others]: Address[], accept: () => Channel | undefined, reject: () => void): void {
    if (!first || !mayOpen()) return reject();
    const release = take();
    const socket = createConnection({ ...first, timeout: CONNECT_MS });
    cover(socket);
    const fail = () => {
      release();
      socket.destroy();
      if (others.length > 0) connect(others, accept, reject);
      else reject();
    };
    socket.once("error", fail);
    socket.once("timeout", fail);
    socket.once("connect", () => {
      socket.off("error", fail).off("timeout", fail).setTimeout(0);
      const channel = accept();
      if (channel) join(channel, socket, release);
      else fail();
    });
  }

  // Offers a connection of the sandbox to the client.
  function offer(socket: Socket, forward: (done: (error: Error | undefined, channel: Channel) => void) => void): void {
    runCovered(socket, () => {
      if (!mayOpen()) return void socket.destroy();
      const release = take();
      // It waits for the client's answer, and what arrives meanwhile stays with the kernel.
      socket.pause();
      socket.once("close", release);
      cover(socket);
      forward((error, channel) => {
        if (error) socket.destroy();
        else join(channel, socket, release);
      });
    });
  }

  function join(accepted: Channel, socket: Socket, release: () => void): void {
    const channel = open(accepted);
    channel.once("close", () => {
      release();
      socket.destroy();
    });
    socket.once("error", () => channel.destroy());
    // A socket that has ended closes, but what it has sent may still wait for the client: so its end passes through the pipe.
    channel.pipe(socket).pipe(channel);
    if (socket.destroyed) channel.destroy();
  }
}

const portOf = (server: Server): number => (server.address() as AddressInfo).port;

const isSocketPath = (path: string): boolean => path.startsWith("/") && Buffer.byteLength(path) <= MAX_SOCKET_PATH && !path.includes("\0");
