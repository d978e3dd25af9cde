import fc from "fast-check";
import { anyAnswer, type AnswerPlan } from "../traffic/answers.ts";
import type { BerthWorld } from "../berth-world.ts";
import { exchange } from "../traffic/exchange.ts";
import { runRelayCase } from "../traffic/relay-case.ts";
import { anyMethod, flaws, headerLists, renderRequest, type RequestPlan } from "../traffic/requests.ts";
import { defineTarget, type Finding } from "../target.ts";
import { anyText, fieldText, mostly, seldom } from "../traffic/values.ts";

const PATIENCE_MS = 25;
// The proxy refuses a sandbox with too many requests for a second.
const isDownOf = (world: BerthWorld) => () => world.isDown;

// Hostile code in a sandbox that uses its proxy.
export const egressClient = (world: BerthWorld) =>
  defineTarget<RequestPlan>({
    name: "egress, client side",
    plan: proxyRequest,
    workers: 24,
    deadlineMs: 30_000,
    async run(plan, { signal }) {
      const pieces = renderRequest(plan, (text) => text.replaceAll("$UPSTREAM", String(world.upstream.port)));
      const to = { path: world.egressSocket("egress") };
      const exchanged = await exchange({
        to,
        pieces,
        isHead: plan.method === "HEAD",
        isOwed: false,
        patienceMs: PATIENCE_MS,
        signal,
        isDown: isDownOf(world),
      });
      return judge(exchanged);
    },
  });

const proxyTarget = fc.oneof(
  {
    weight: 4,
    arbitrary: fc
      .tuple(fc.constantFrom("127.0.0.1", "localhost"), fieldText)
      .map(([host, path]) => `http://${host}:$UPSTREAM/${path.replaceAll(" ", "%20")}`),
  },
  { weight: 4, arbitrary: fc.constantFrom("127.0.0.1:$UPSTREAM", "localhost:$UPSTREAM") },
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      "169.254.169.254:80",
      "[::1]:$UPSTREAM",
      "[::ffff:127.0.0.1]:$UPSTREAM",
      "0x7f000001:$UPSTREAM",
      "127.1:$UPSTREAM",
      "127.0.0.1:0",
      "127.0.0.1:99999",
      "127.0.0.1",
      ":80",
      "http://user:pass@127.0.0.1:$UPSTREAM/",
      "http://127.0.0.1:$UPSTREAM@evil.invalid/",
      "https://127.0.0.1:$UPSTREAM/",
      "http://[::1/",
      "http://",
      "//127.0.0.1/",
    ),
  },
  { weight: 1, arbitrary: fieldText.map((text) => text.replaceAll(" ", "")) },
);

const proxyRequest: fc.Arbitrary<RequestPlan> = fc.record({
  method: mostly(fc.constantFrom("CONNECT", "GET", "GET", "POST"), anyMethod, 10),
  target: proxyTarget,
  headers: headerLists(fc.constant<[string, string][]>([["host", "localhost"]])),
  body: seldom(anyText, 2).map(([text]) => text ?? null),
  ...flaws,
});

interface UpstreamPlan {
  tunnel: boolean;
  answer: AnswerPlan;
}

// A hostile server on the Internet that answers a sandbox through the proxy.
export const egressUpstream = (world: BerthWorld) =>
  defineTarget<UpstreamPlan>({
    name: "egress, upstream side",
    plan: fc.record({ tunnel: mostly(fc.constant(false), fc.constant(true), 5), answer: anyAnswer(anyText) }),
    workers: 24,
    deadlineMs: 30_000,
    async run({ tunnel, answer }, context) {
      const { upstream } = world;
      const authority = `127.0.0.1:${upstream.port}`;
      const inner = `GET ${tunnel ? "" : `http://${authority}`}/?case=${context.caseId} HTTP/1.1\r\nhost: ${authority}\r\n\r\n`;
      const request = tunnel ? `CONNECT ${authority} HTTP/1.1\r\nhost: ${authority}\r\n\r\n${inner}` : inner;
      const to = { path: world.egressSocket("daemon") };
      const { finding } = await runRelayCase({ to, request, behind: upstream, answer, isDown: isDownOf(world) }, context);
      // After a CONNECT, any bytes are valid.
      return tunnel && finding?.kind === "wrong answer" ? undefined : finding;
    },
  });

function judge(exchanged: Awaited<ReturnType<typeof exchange>>): Finding | undefined {
  if (exchanged.is === "answered" && exchanged.answer.status === 500)
    return { kind: "5xx", sentence: `500 ${exchanged.answer.body.slice(0, 100)}` };
  return undefined;
}
