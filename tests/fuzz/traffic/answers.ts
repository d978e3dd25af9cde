import type { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import fc from "fast-check";
import { anyHeader, cut } from "./requests.ts";
import { anyText, applyDamage, bytes, damage, fieldText, mostly, place, seldom, type Damage } from "./values.ts";

// A response of a hostile server: a daemon, an upstream, a model provider or a webhook receiver.
export interface AnswerPlan {
  // Informational responses before it.
  interim: number;
  version: string;
  status: string;
  reason: string;
  headers: [string, string][];
  body: string;
  framing: "length" | "chunked" | "close" | "short" | "long" | "both" | "odd";
  trailers: [string, string][];
  damage: Damage[];
  cuts: number[];
  pauseMs: number;
  // The end of the connection. `flood` repeats the last piece.
  ending: "keep" | "end" | "reset" | "hold" | "flood";
}

const STATUSES = [
  "200",
  "201",
  "204",
  "206",
  "301",
  "302",
  "304",
  "400",
  "401",
  "403",
  "404",
  "407",
  "410",
  "429",
  "500",
  "502",
  "503",
  "504",
];
const ODD_STATUSES = ["000", "099", "100", "101", "103", "199", "600", "999", "1", "20", "2000", "-1", "abc", "", "1e2", " 200"];

const answerHeader: fc.Arbitrary<[string, string]> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.tuple(
      fc.constantFrom(
        "clear-site-data",
        "strict-transport-security",
        "www-authenticate",
        "content-type",
        "set-cookie",
        "location",
        "etag",
        "content-encoding",
        "retry-after",
        "x-error-code",
        "sec-websocket-accept",
      ),
      fc.oneof(fieldText, fc.constantFrom("text/event-stream", "application/json", "gzip", "port_closed", "text/html; charset=\u00ff")),
    ),
  },
  { weight: 1, arbitrary: anyHeader },
);

// `hold` and `flood` are rare, because they take the most time.
const ENDINGS: AnswerPlan["ending"][] = [
  ...Array<"end">(14).fill("end"),
  ...Array<"keep">(4).fill("keep"),
  "reset",
  "reset",
  "hold",
  "flood",
];

export const anyAnswer = (body: fc.Arbitrary<string>, options: { endings?: AnswerPlan["ending"][] } = {}): fc.Arbitrary<AnswerPlan> =>
  fc.record({
    interim: mostly(fc.constant(0), fc.constantFrom(1, 3, 50), 20),
    version: mostly(fc.constant("HTTP/1.1"), fc.constantFrom("HTTP/1.0", "HTTP/2", "", "ICY", "http/1.1"), 30),
    status: mostly(fc.constantFrom("200", ...STATUSES), fc.constantFrom(...ODD_STATUSES), 5),
    reason: mostly(fc.constant("OK"), anyText),
    headers: fc.array(answerHeader, { maxLength: 4 }),
    body,
    framing: fc.oneof(
      { weight: 6, arbitrary: fc.constantFrom("length" as const, "chunked" as const) },
      { weight: 2, arbitrary: fc.constantFrom("close", "short", "long", "both", "odd") },
    ),
    trailers: seldom(answerHeader),
    damage: seldom(damage, 5),
    cuts: seldom(place, 4),
    pauseMs: mostly(fc.constant(0), fc.constantFrom(1, 5), 4),
    ending: fc.constantFrom(...(options.endings ?? ENDINGS)),
  });

export function renderAnswer(plan: AnswerPlan): string[] {
  const { interim, version, status, reason, headers, body, framing, trailers } = plan;
  const lines = (list: [string, string][]) => list.map(([name, value]) => `${name}: ${value}`);
  const chunked = framing === "chunked" || framing === "both";
  const sizes: Partial<Record<AnswerPlan["framing"], string[]>> = {
    length: [String(body.length)],
    both: [String(body.length)],
    short: [String(Math.max(0, body.length - 3))],
    long: [String(body.length + 7)],
    odd: [String(body.length), String(body.length + 1)],
  };
  const framed = [...(chunked ? ["transfer-encoding: chunked"] : []), ...(sizes[framing] ?? []).map((size) => `content-length: ${size}`)];
  const head = [`${version} ${status} ${reason}`, ...lines(headers), ...framed].join("\r\n");
  const last = ["0", ...lines(trailers), "", ""].join("\r\n");
  const content = chunked ? `${body === "" ? "" : `${body.length.toString(16)}\r\n${body}\r\n`}${last}` : body;
  const early = "HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n".repeat(interim);
  return cut(applyDamage(`${early}${head}\r\n\r\n${content}`, plan.damage), plan.cuts);
}

const FLOOD_BYTES = 2 * 1024 * 1024;

// Sends the response on the connection. Resolves when the last byte is written.
export async function playAnswer(socket: Socket, plan: AnswerPlan): Promise<void> {
  const pieces = renderAnswer(plan);
  for (const [index, piece] of pieces.entries()) {
    if (index > 0) await sleep(plan.pauseMs);
    if (!socket.writable) return;
    socket.write(bytes(piece));
  }
  if (plan.ending === "end") socket.end();
  if (plan.ending === "reset") reset(socket);
  if (plan.ending === "flood") flood(socket, bytes(pieces.at(-1) ?? "x"));
}

// A Unix socket cannot be reset.
const reset = (socket: Socket) => (socket.remoteAddress === undefined ? socket.destroy() : socket.resetAndDestroy());

// Bounded, because the harness shares this machine.
function flood(socket: Socket, piece: Buffer): void {
  const chunk = Buffer.alloc(64 * 1024, piece.length > 0 ? piece : "x");
  let left = FLOOD_BYTES;
  const write = () => {
    while (left > 0 && socket.writable && !socket.writableNeedDrain) {
      left -= chunk.length;
      socket.write(chunk);
    }
  };
  socket.on("drain", write);
  write();
}
