import { connect, type NetConnectOpts, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { readAnswer, type Read, type ReadAnswer } from "./read-answer.ts";
import { bytes } from "./values.ts";

// Sends bytes to the server over a socket and reads the response.

export interface Exchange {
  to: NetConnectOpts;
  pieces: string[];
  // HEAD: the response has no body, regardless of its headers.
  isHead: boolean;
  // Whether the server must respond. If not, it may wait for more bytes, and the input ends instead.
  isOwed: boolean;
  // How long to wait for the rest of a response, or for an optional response.
  patienceMs: number;
  signal: AbortSignal;
  // Idle connections that have delivered a complete response.
  idle?: Socket[];
  // For an address that sometimes refuses connections: retry until this resolves to true.
  isDown?: () => boolean;
}

export type Exchanged =
  // The first final response. `isWhole` is false if the connection broke or the wait ended in the middle.
  | { is: "answered"; answer: ReadAnswer; isWhole: boolean }
  // The connection closed before the headers of a response were complete.
  | { is: "closed" }
  // Bytes that are not a response.
  | { is: "garbage"; text: string }
  // The connection was refused.
  | { is: "refused" };

// This is enough to judge a response.
const MAX_BYTES = 256 * 1024;

const DESERTED_MS = 50;

export async function exchange(options: Exchange): Promise<Exchanged> {
  const { to, isOwed, signal, idle, isDown } = options;
  const kept = isOwed ? idle?.pop() : undefined;
  if (kept) {
    const exchanged = await converse(kept, options);
    // The server may close an idle connection at any time.
    if (exchanged.is !== "closed" || signal.aborted) return exchanged;
  }
  for (;;) {
    const socket = await open(to, signal);
    if (socket) return converse(socket, options);
    if (!isDown || isDown() || signal.aborted) return { is: "refused" };
    await sleep(DESERTED_MS);
  }
}

async function converse(socket: Socket, { pieces, isHead, isOwed, patienceMs, signal, idle }: Exchange): Promise<Exchanged> {
  const news = createNews();
  const parts: Buffer[] = [];
  let size = 0;
  let isClosed = socket.destroyed;
  let read: Read = { is: "incomplete" };
  const look = () => {
    read = readAnswer(parts.length === 1 ? parts[0]! : Buffer.concat(parts), { isHead, isClosed });
    news.tell();
  };
  const onData = (part: Buffer) => {
    size += part.length;
    parts.push(part);
    look();
    if (size > MAX_BYTES) socket.destroy();
  };
  const onClose = () => {
    isClosed = true;
    look();
  };
  const stop = () => socket.destroy();
  socket.on("data", onData);
  socket.once("close", onClose);
  signal.addEventListener("abort", stop, { once: true });

  const isWhole = () => read.is !== "incomplete";
  const hasHead = () => read.is !== "incomplete" || read.head !== undefined;
  const until = async (isDone: () => boolean, limitMs: number) => {
    const endMs = performance.now() + limitMs;
    while (!isDone() && !isClosed && performance.now() < endMs) await news.next(endMs - performance.now());
  };
  try {
    for (const [index, piece] of pieces.entries()) {
      if (index > 0) await sleep(1);
      if (!socket.writable) break;
      socket.write(bytes(piece));
    }
    if (isOwed) await until(hasHead, Infinity);
    await until(isWhole, patienceMs);
    // No more bytes follow, so the exchange must end now.
    if (!hasHead() && !isClosed) {
      socket.end();
      await until(hasHead, Infinity);
    }
    return toExchanged(read, parts);
  } finally {
    signal.removeEventListener("abort", stop);
    socket.off("data", onData);
    socket.off("close", onClose);
    if (isOwed && idle && !isClosed && canBeKept(read)) idle.push(socket);
    else socket.destroy();
  }
}

function toExchanged(read: Read, parts: Buffer[]): Exchanged {
  if (read.is === "answer") return { is: "answered", answer: read.answer, isWhole: true };
  if (read.is === "garbage") return { is: "garbage", text: Buffer.concat(parts).subarray(0, 200).toString("latin1") };
  return read.head ? { is: "answered", answer: read.head, isWhole: false } : { is: "closed" };
}

const canBeKept = (read: Read): boolean =>
  read.is === "answer" && read.answer.status !== 101 && !/close/i.test(read.answer.headers.get("connection") ?? "");

async function open(to: NetConnectOpts, signal: AbortSignal): Promise<Socket | undefined> {
  const socket = connect({ ...to, allowHalfOpen: true, noDelay: true } as NetConnectOpts);
  const { promise, resolve } = Promise.withResolvers<Socket | undefined>();
  const fail = () => {
    socket.destroy();
    resolve(undefined);
  };
  socket.once("connect", () => resolve(socket));
  socket.on("error", fail);
  // A half-open socket does not close when the other side ends.
  socket.on("end", () => socket.end());
  signal.addEventListener("abort", fail, { once: true });
  return promise.finally(() => signal.removeEventListener("abort", fail));
}

// Lets a loop wait for an event or a timeout.
function createNews(): { tell(): void; next(limitMs: number): Promise<void> } {
  let wake: (() => void) | undefined;
  return {
    tell: () => wake?.(),
    async next(limitMs) {
      const { promise, resolve } = Promise.withResolvers<void>();
      wake = resolve;
      const timer = Number.isFinite(limitMs) ? setTimeout(resolve, limitMs) : undefined;
      await promise;
      clearTimeout(timer);
    },
  };
}
