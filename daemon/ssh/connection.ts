import type { Duplex } from "node:stream";
import type { Channel, Connection } from "ssh2";
import type { Cover } from "../http/boundary.ts";
import { serveForwards } from "./forwards.ts";
import { serveSession, type SessionDeps } from "./session-channel.ts";

export interface ConnectionDeps extends Omit<SessionDeps, "open"> {
  transport: Duplex;
  cover: Cover;
}

// A channel's buffers hold up to 2 MiB in each direction.
const MAX_CHANNELS = 64;
// The library does not end a client that sends more than its window allows.
const MAX_UNREAD_BYTES = 4 * 1024 * 1024;

// Serves one connection. What is thrown while it is handled ends only this connection.
export function serveConnection(client: Connection, deps: ConnectionDeps): void {
  const { transport, cover } = deps;
  let channels = 0;
  cover(Object.assign(client, { destroy: () => transport.destroy() }));
  client.on("error", () => transport.destroy());
  client.on("authentication", (attempt) => {
    // The WebSocket was opened with a token. We do not ask for a password, which would be one more secret.
    if (attempt.method === "none" || attempt.method === "publickey") attempt.accept();
    else attempt.reject(["none", "publickey"]);
  });
  client.on("session", (accept, reject) => {
    if (channels >= MAX_CHANNELS) return reject();
    const session = accept();
    const release = take();
    session.once("close", release);
    cover(Object.assign(session, { destroy: () => transport.destroy() }));
    serveSession(session, { ...deps, open });
  });
  serveForwards(client, { open, take, mayOpen: () => channels < MAX_CHANNELS, transport, cover });

  // Counts a channel until the result is called.
  function take(): () => void {
    let isTaken = true;
    channels++;
    return () => {
      if (isTaken) channels--;
      isTaken = false;
    };
  }

  // Prepares a channel. The library sends whatever a window allows, however large the client has made that, so a write is complete only
  // when the transport has room for more.
  function open<Opened extends Channel>(channel: Opened): Opened {
    cover(channel);
    const push = channel.push.bind(channel);
    channel.push = (bytes: Buffer | null) => {
      if (channel.readableLength > MAX_UNREAD_BYTES) transport.destroy();
      return push(bytes);
    };
    holdBack(channel, transport);
    if ("stderr" in channel) holdBack(channel.stderr as unknown as Channel, transport);
    return channel;
  }
}

function holdBack(channel: Pick<Duplex, "_write">, transport: Duplex): void {
  const write = channel._write.bind(channel);
  channel._write = (chunk, encoding, callback) =>
    write(chunk, encoding, (error) => {
      if (transport.writableNeedDrain && !error) transport.once("drain", callback);
      else callback(error);
    });
}
