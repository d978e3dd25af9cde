import fc from "fast-check";
import { ENCRYPTED_CLIENT_HELLO, extension, helloMessage, records, serverName } from "../../../server/egress/testing/client-hellos.ts";
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

interface HelloPlan {
  name: string;
  other: number[];
  bytesPerRecord: number;
  changes: { at: number; value: number }[];
  cuts: number[];
}

// Hostile code in a sandbox that begins a tunnel with TLS, whose name the proxy looks for.
export const egressHello = (world: BerthWorld) =>
  defineTarget<HelloPlan>({
    name: "egress, tunnels",
    plan: fc.record({
      name: fc.oneof(fc.constantFrom("localhost", "other.example", ""), fieldText),
      other: fc.array(fc.nat(255), { maxLength: 300 }),
      bytesPerRecord: fc.constantFrom(16_384, 64, 5, 1),
      changes: fc.array(fc.record({ at: fc.nat(600), value: fc.nat(255) }), { maxLength: 4 }),
      cuts: fc.array(fc.nat(700), { maxLength: 4 }),
    }),
    workers: 24,
    deadlineMs: 30_000,
    async run({ name, other, bytesPerRecord, changes, cuts }, { signal }) {
      const bytes = records(helloMessage([extension(ENCRYPTED_CLIENT_HELLO, Buffer.from(other)), serverName(name)]), bytesPerRecord);
      for (const { at, value } of changes) if (at < bytes.length) bytes[at] = value;
      const ends = [...cuts.filter((cut) => cut < bytes.length).sort((a, b) => a - b), bytes.length];
      const pieces = ends.map((end, i) => bytes.subarray(ends[i - 1] ?? 0, end).toString("latin1"));
      const exchanged = await exchange({
        to: { path: world.egressSocket("egress") },
        pieces: [`CONNECT localhost:${world.upstream.port} HTTP/1.1\r\nhost: x\r\n\r\n`, ...pieces],
        isHead: false,
        isOwed: false,
        patienceMs: PATIENCE_MS,
        signal,
        isDown: isDownOf(world),
      });
      return judge(exchanged);
    },
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
