import type { Process, ProcessEvent, ProcessStream } from "@berth/contract/daemon/processes.ts";
import { badRequest } from "../http/errors.ts";
import type { Call } from "../http/route.ts";
import { sendEvents } from "../http/send-events.ts";
import type { LiveProcess } from "./process.ts";

const MAX_EVENT_BYTES = 32 * 1024;
const END_ID = "end";

// Sends the output of a process as server-sent events. A reader reads at its own pace, and never holds back the program.
//
// The id of an event is where the output continues after it. If a character was split, the bytes of its first part are in the id too:
// they have left the log's order, because output of the other stream came between.
export async function sendProcessEvents(
  process: LiveProcess,
  { request, response, query }: Call,
  { announce }: { announce?: Process } = {},
): Promise<void> {
  const encoding = query.get("encoding") ?? "utf8";
  if (encoding !== "utf8" && encoding !== "base64") throw badRequest("encoding must be utf8 or base64");
  const lastId = request.headers["last-event-id"];
  if (lastId === END_ID && !process.running) return void response.writeHead(204).end();
  const reader = createReader(typeof lastId === "string" ? lastId : "0", encoding);
  let isOver = false;
  let first = announce ? { id: "0", data: JSON.stringify({ type: "start", process: announce } satisfies ProcessEvent) } : null;
  await sendEvents(response, {
    onNews: process.onNews,
    next() {
      if (isOver) return "over";
      if (first) {
        const started = first;
        first = null;
        return started;
      }
      const output = reader.next(process);
      if (output) return { id: output.id, data: JSON.stringify(output.event) };
      if (process.running) return null;
      isOver = true;
      return { id: END_ID, data: JSON.stringify({ type: "end", process: process.describe() } satisfies ProcessEvent) };
    },
  });
}

interface Numbered {
  id: string;
  event: ProcessEvent;
}

// `120` or, with the first bytes of a character of a stream, `120.stdout-e282`.
const ID = /^(\d{1,15})(?:\.stdout-([0-9a-f]{2,6}))?(?:\.stderr-([0-9a-f]{2,6}))?$/;

const STREAMS = ["stdout", "stderr"] as const;

function createReader(lastId: string, encoding: "utf8" | "base64") {
  const [, from, stdout = "", stderr = ""] = ID.exec(lastId) ?? [];
  if (from === undefined) throw badRequest("Last-Event-ID is not one of this stream");
  const held: Record<ProcessStream, Buffer> = { stdout: Buffer.from(stdout, "hex"), stderr: Buffer.from(stderr, "hex") };
  let offset = Number(from);

  // null: there is nothing yet, or no more.
  function next({ log, running }: LiveProcess): Numbered | null {
    if (offset < log.start) {
      const bytes = log.start - offset;
      offset = log.start;
      return { id: id(), event: { type: "dropped", bytes } };
    }
    for (let found = log.read(offset); found; found = log.read(offset)) {
      const { stream } = found;
      const piece = found.bytes.subarray(0, MAX_EVENT_BYTES);
      const bytes = Buffer.concat([held[stream], piece]);
      const complete = encoding === "base64" ? bytes.length : completeLength(bytes);
      offset += piece.length;
      held[stream] = bytes.subarray(complete);
      if (complete > 0) return { id: id(), event: { type: "output", stream, data: bytes.toString(encoding, 0, complete) } };
    }
    return running ? null : rest();
  }

  // Bytes at the end that are no character.
  function rest(): Numbered | null {
    const stream = STREAMS.find((name) => held[name].length > 0);
    if (stream === undefined) return null;
    const data = held[stream].toString();
    held[stream] = Buffer.alloc(0);
    return { id: id(), event: { type: "output", stream, data } };
  }

  function id(): string {
    const parts = STREAMS.filter((stream) => held[stream].length > 0);
    return [offset, ...parts.map((stream) => `${stream}-${held[stream].toString("hex")}`)].join(".");
  }

  return { next };
}

// The length without the first bytes of a character whose rest is missing.
function completeLength(bytes: Buffer): number {
  const lead = bytes.subarray(-3).findLastIndex((byte) => (byte & 0xc0) !== 0x80);
  if (lead === -1) return bytes.length;
  const at = Math.max(0, bytes.length - 3) + lead;
  const byte = bytes[at] ?? 0;
  const wanted = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
  return at + wanted > bytes.length ? at : bytes.length;
}
