import { connect, type NetConnectOpts, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { readAnswer, type Read, type ReadAnswer } from "./read-answer.ts";
import { bytes } from "./values.ts";

// Sends bytes to the server over a socket and reads what comes back.

export interface Exchange {
  to: NetConnectOpts;
  pieces: string[];
  // HEAD: an answer has no body, whatever it says.
  isHead: boolean;
  // The server owes an answer. Otherwise it may wait for more, and gets the end of the input instead.
  isOwed: boolean;
  // How long to wait for more once the answer has begun, or for an answer that is not owed.
  patienceMs: number;
  signal: AbortSignal;
  // Connections on which an answer that was owed has come, for the next one.
  idle?: Socket[];
  // For an address that is deserted now and then: try again until this is so.
  isDown?: () => boolean;
}

export type Exchanged =
  // The first final answer. `isWhole` is false when the connection was cut in the middle, or patience ended.
  | { is: "answered"; answer: ReadAnswer; isWhole: boolean }
  // Closed without a whole head of an answer.
  | { is: "closed" }
  // Bytes that are not an answer.
  | { is: "garbage"; text: string }
  // There is nobody at the address.
  | { is: "refused" };

// More than enough to judge an answer by.
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
    // Whatever it still waits for does not come. Now it has to end.
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
  // With half-open sockets the end of the other side is not ours.
  socket.on("end", () => socket.end());
  signal.addEventListener("abort", fail, { once: true });
  return promise.finally(() => signal.removeEventListener("abort", fail));
}

// Lets a loop sleep until something has happened or time is up.
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
