import type { Duplex } from "node:stream";
import type { ServerConfig } from "ssh2";
import Server from "ssh2/lib/server.js";
import { coverConnection } from "../http/boundary.ts";
import type { StartedProgram } from "../program-list/started-program.ts";
import { serveConnection } from "./connection.ts";
import { openHostKey } from "./host-key.ts";
import type { SessionDeps } from "./session-channel.ts";

// Serves SSH connections, whose bytes come over WebSockets. The server has authenticated the caller.
export interface Ssh {
  // As in a known_hosts file.
  readonly hostKey: string;
  // There are as many connections as may be.
  readonly isFull: boolean;
  // `wasPaused` tells, when the connection has ended, whether a pause has closed it.
  attach(transport: Duplex, options: { wasPaused: () => boolean }): void;
  programs(): StartedProgram[];
  // Ends all connections and what runs in them.
  stop(): void;
}

export interface SshDeps extends Pick<SessionDeps, "environment" | "workspace" | "home" | "startRunning"> {
  hostKeyFile: string;
}

const MAX_CONNECTIONS = 16;
// The caller has authenticated already, so a client that does not begin at once has failed.
const HANDSHAKE_MS = 60_000;
const MAX_UNSENT_BYTES = 1024 * 1024;
// Those that Node computes natively, and no compression.
const ALGORITHMS: ServerConfig["algorithms"] = {
  kex: ["curve25519-sha256", "curve25519-sha256@libssh.org", "ecdh-sha2-nistp256"],
  cipher: ["aes128-gcm@openssh.com", "aes256-gcm@openssh.com", "aes128-ctr", "aes256-ctr"],
  hmac: ["hmac-sha2-256-etm@openssh.com", "hmac-sha2-512-etm@openssh.com", "hmac-sha2-256", "hmac-sha2-512"],
  compress: ["none"],
};

export function createSsh({ hostKeyFile, ...deps }: SshDeps): Ssh {
  const hostKey = openHostKey(hostKeyFile);
  const connections = new Set<Duplex>();
  const started = new Set<StartedProgram>();
  // The WebSocket has pings of its own. Answers to ours would look like use of the session.
  Object.assign(Server, { KEEPALIVE_CLIENT_INTERVAL: 0 });
  return {
    hostKey: hostKey.public,
    get isFull() {
      return connections.size >= MAX_CONNECTIONS;
    },
    attach(transport, { wasPaused }) {
      const cover = coverConnection(transport);
      // One listener per channel waits for the transport.
      transport.setMaxListeners(0);
      freeWhenSent(transport);
      connections.add(transport);
      const timer = setTimeout(() => transport.destroy(), HANDSHAKE_MS).unref();
      transport.once("close", () => {
        clearTimeout(timer);
        connections.delete(transport);
      });
      // A client that sends requests and does not read the answers has to wait.
      transport.on("data", () => {
        if (transport.writableLength < MAX_UNSENT_BYTES) return;
        transport.pause();
        transport.once("drain", () => transport.resume());
      });
      // One for each connection, because its event does not tell which transport it is about.
      const server = new Server({ hostKeys: [hostKey.secret], ident: "Berth", algorithms: ALGORITHMS }, (client) => {
        client.once("ready", () => clearTimeout(timer));
        serveConnection(client, { ...deps, transport, cover, wasPaused, onStart: note });
      });
      server.injectSocket(transport as Parameters<typeof server.injectSocket>[0]);
    },
    programs: () => [...started],
    stop() {
      for (const program of started) program.stop();
      for (const transport of connections) transport.destroy();
    },
  };

  function note(program: StartedProgram): Disposable {
    started.add(program);
    return { [Symbol.dispose]: () => void started.delete(program) };
  }
}

// Frees the memory of a packet now. V8 collects buffers late, because it sees only their small heads.
function freeWhenSent(transport: Duplex): void {
  const write = transport._write.bind(transport);
  transport._write = (chunk: Buffer<ArrayBuffer>, encoding, callback) =>
    write(chunk, encoding, (error) => {
      if (chunk.length === chunk.buffer.byteLength) chunk.buffer.transfer(0);
      callback(error);
    });
}
