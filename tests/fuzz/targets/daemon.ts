import fc from "fast-check";
import { anyAnswer, type AnswerPlan } from "../traffic/answers.ts";
import type { BerthWorld } from "../berth-world.ts";
import { runRelayCase } from "../traffic/relay-case.ts";
import type { ReadAnswer } from "../traffic/read-answer.ts";
import { defineTarget, type Finding } from "../target.ts";
import { anyText } from "../traffic/values.ts";

interface DaemonPlan {
  ask: "get" | "head" | "post" | "socket" | "preview";
  answer: AnswerPlan;
}

// Hostile code in a sandbox that has replaced the daemon and answers the gateway.
export const daemon = (world: BerthWorld) =>
  defineTarget<DaemonPlan>({
    name: "daemon's answers",
    plan: daemonPlan,
    workers: 32,
    deadlineMs: 30_000,
    async run({ ask, answer }, context) {
      const { berth, sessions, daemons, preview } = world;
      const path = `/sandboxes/${sessions.daemon.sandboxId}/health?case=${context.caseId}`;
      const common = [`host: localhost`, `x-api-key: ${berth.key}`];
      const heads: Record<DaemonPlan["ask"], string[]> = {
        get: [`GET ${path} HTTP/1.1`, ...common],
        preview: [`GET /?case=${context.caseId} HTTP/1.1`, `host: ${preview.host}`, `cookie: ${preview.cookie}`],
        head: [`HEAD ${path} HTTP/1.1`, ...common],
        post: [`POST ${path} HTTP/1.1`, ...common, "content-type: application/json", "content-length: 2"],
        socket: [`GET ${path} HTTP/1.1`, ...common, ...HANDSHAKE],
      };
      const request = `${heads[ask].join("\r\n")}\r\n\r\n${ask === "post" ? "{}" : ""}`;
      const to = { port: world.port, host: "127.0.0.1" };
      const { exchanged, finding } = await runRelayCase({ to, request, isHead: ask === "head", behind: daemons.daemon, answer }, context);
      return finding ?? (exchanged.is === "answered" ? judgeHeaders(ask, exchanged.answer) : undefined);
    },
  });

// No response of a sandbox may act on our origin.
function judgeHeaders(ask: DaemonPlan["ask"], { headers }: ReadAnswer): Finding | undefined {
  const forbidden = ask === "preview" ? NEVER : [...NEVER, "set-cookie", "location", "www-authenticate"];
  const passed =
    forbidden.find((name) => headers.has(name)) ?? (/berth-/i.test(headers.get("set-cookie") ?? "") ? "a cookie of ours" : undefined);
  return passed === undefined ? undefined : { kind: "wrong answer", sentence: `${passed} was passed on` };
}

const NEVER = ["clear-site-data", "strict-transport-security", "alt-svc", "x-berth-token"];

const HANDSHAKE = ["connection: Upgrade", "upgrade: websocket", "sec-websocket-version: 13", "sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA=="];

// Text, JSON lines like those of exec, and all kinds of WebSocket frames.
const bodies = fc.oneof(
  anyText,
  fc.constantFrom(
    '{"type":"exit","code":0}\n',
    '{"error":"x"}',
    "\x81\x05hello",
    "\x88\x02\x03\xe8",
    "\x89\x00",
    "\x82\x7f\x7f\xff\xff\xff\xff\xff\xff\xff",
  ),
);

const daemonPlan: fc.Arbitrary<DaemonPlan> = fc.record({
  ask: fc.constantFrom("get", "head", "post", "socket", "preview", "preview"),
  answer: anyAnswer(bodies),
});
