import fc from "fast-check";
import { anyAnswer, type AnswerPlan } from "../answers.ts";
import type { BerthWorld } from "../berth-world.ts";
import { runRelayCase } from "../relay-case.ts";
import { defineTarget } from "../target.ts";
import { anyText } from "../values.ts";

interface DaemonPlan {
  ask: "get" | "head" | "post" | "socket";
  answer: AnswerPlan;
}

// Code in a sandbox that has taken the daemon's place: what it answers to the gateway.
export const daemon = (world: BerthWorld) =>
  defineTarget<DaemonPlan>({
    name: "daemon's answers",
    plan: daemonPlan,
    workers: 32,
    deadlineMs: 30_000,
    async run({ ask, answer }, context) {
      const { berth, sessions, daemons } = world;
      const path = `/sandboxes/${sessions.daemon.sandboxId}/health?case=${context.caseId}`;
      const common = [`host: localhost`, `x-api-key: ${berth.key}`];
      const heads: Record<DaemonPlan["ask"], string[]> = {
        get: [`GET ${path} HTTP/1.1`, ...common],
        head: [`HEAD ${path} HTTP/1.1`, ...common],
        post: [`POST ${path} HTTP/1.1`, ...common, "content-type: application/json", "content-length: 2"],
        socket: [`GET ${path} HTTP/1.1`, ...common, ...HANDSHAKE],
      };
      const request = `${heads[ask].join("\r\n")}\r\n\r\n${ask === "post" ? "{}" : ""}`;
      const to = { port: world.port, host: "127.0.0.1" };
      const { complaint } = await runRelayCase({ to, request, isHead: ask === "head", behind: daemons.daemon, answer }, context);
      return complaint;
    },
  });

const HANDSHAKE = ["connection: Upgrade", "upgrade: websocket", "sec-websocket-version: 13", "sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA=="];

// Text, JSON lines as exec gives them, and WebSocket frames of every kind.
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
  ask: fc.constantFrom("get", "get", "head", "post", "socket"),
  answer: anyAnswer(bodies),
});
