import type { NetConnectOpts } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { AnswerPlan } from "./answers.ts";
import { exchange, type Exchanged } from "./exchange.ts";
import { closed, type HostileServer } from "./hostile-server.ts";
import type { CaseContext, Finding } from "../target.ts";

export interface RelayCase {
  to: NetConnectOpts;
  request: string;
  isHead?: boolean;
  behind: HostileServer;
  answer: AnswerPlan;
  isDown?: () => boolean;
}

// How long a caller waits for a response that does not end.
const PATIENCE_MS = 25;

// A well-behaved caller sends a request through the server, and a hostile server responds. The caller gets a response or a closed
// connection. When the caller disconnects, the server closes the connection to the hostile server too.
export async function runRelayCase(
  { to, request, isHead = false, behind, answer, isDown }: RelayCase,
  { caseId, signal }: CaseContext,
): Promise<{ exchanged: Exchanged; finding: Finding | undefined }> {
  using staged = behind.expect(caseId, answer);
  // The server may let the caller wait for an open response longer than we do.
  const isEnding = answer.ending === "end" || answer.ending === "reset";
  const leaving = new AbortController();
  const patience = isEnding ? undefined : staged.played.then(() => sleep(PATIENCE_MS)).then(() => leaving.abort());
  const asked = exchange({
    to,
    pieces: [request],
    isHead,
    isOwed: true,
    patienceMs: PATIENCE_MS,
    signal: AbortSignal.any([signal, leaving.signal]),
    ...(isDown && { isDown }),
  });
  const exchanged = await asked;
  void patience?.catch(() => {});
  const socket = await Promise.race([staged.played, sleep(0)]);
  // After a complete response, the connection can be reused.
  const isDone = exchanged.is === "answered" && exchanged.isWhole;
  if (socket && !isDone && answer.ending !== "keep") await Promise.race([closed(socket), aborted(signal)]);
  return { exchanged, finding: judge(exchanged, answer) };
}

function judge(exchanged: Exchanged, answer: AnswerPlan): Finding | undefined {
  if (exchanged.is === "garbage")
    return { kind: "wrong answer", sentence: `bytes that are not HTTP: ${JSON.stringify(exchanged.text.slice(0, 60))}` };
  if (exchanged.is !== "answered" || exchanged.answer.status !== 500) return undefined;
  // Forwarded from the hostile server.
  if (JSON.stringify(answer).includes("500")) return undefined;
  return { kind: "5xx", sentence: `500 ${exchanged.answer.body.slice(0, 200)}` };
}

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
