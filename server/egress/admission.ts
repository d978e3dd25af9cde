import type { SandboxId } from "@berth/contract";
import { SECOND, type Clock } from "../clock.ts";
import type { Log } from "../log.ts";

// Who may use the proxy over the network, besides having a pass: the sandbox itself, from the address that the engine gave
// it, while its session runs. Every server finds that out by itself, so that a session that has ended anywhere loses its
// way out on all of them within CHECK_MS, and a pass that was copied elsewhere is worth nothing.
export interface Admission extends AsyncDisposable {
  // Answers from memory for a moment. When store or engine do not answer, what was last known of this sandbox and address
  // counts; where nothing is, the answer is no.
  allows(sandboxId: SandboxId, address: string): Promise<boolean>;
}

export interface AdmissionDeps {
  // Which of these sandboxes belong to a session that runs.
  running: (sandboxIds: readonly SandboxId[]) => Promise<ReadonlySet<SandboxId>>;
  isAddressOf: (sandboxId: SandboxId, address: string, signal: AbortSignal) => Promise<boolean>;
  // Connections that are open now.
  open: () => Iterable<AdmittedConnection>;
  clock: Clock;
  log: Log;
}

export interface AdmittedConnection {
  sandboxId: SandboxId;
  address: string;
  // Cuts it.
  end(): void;
}

export const CHECK_MS = 2 * SECOND;
// A refusal is not believed for long: the sandbox may have been resumed a moment ago.
const REFUSAL_KEPT_MS = 500;
const ANSWER_MS = 3 * SECOND;
const REMEMBERED = 10_000;

interface Verdict {
  untilMs: number;
  reading: Promise<boolean>;
  last: boolean;
}

export function createAdmission({ running, isAddressOf, open, clock, log }: AdmissionDeps): Admission {
  const verdicts = new Map<string, Verdict>();

  function allows(sandboxId: SandboxId, address: string): Promise<boolean> {
    const key = keyOf({ sandboxId, address });
    const known = verdicts.get(key);
    if (known && clock.now() < known.untilMs) return known.reading;
    if (verdicts.size >= REMEMBERED) verdicts.clear();
    const verdict: Verdict = { untilMs: Infinity, last: known?.last ?? false, reading: Promise.resolve(false) };
    verdict.reading = read(sandboxId, address, verdict);
    verdicts.set(key, verdict);
    return verdict.reading;
  }

  async function read(sandboxId: SandboxId, address: string, verdict: Verdict): Promise<boolean> {
    try {
      const runs = (await running([sandboxId])).has(sandboxId);
      verdict.last = runs && (await isAddressOf(sandboxId, address, AbortSignal.timeout(ANSWER_MS)));
      if (!verdict.last) logRefusal(log, { sandboxId, address, reason: runs ? "not the sandbox's address" : "the session does not run" });
    } catch (error) {
      log.warn("egress.not_checked", { sandboxId, error: String(error) });
    }
    verdict.untilMs = clock.now() + (verdict.last ? CHECK_MS : REFUSAL_KEPT_MS);
    return verdict.last;
  }

  // What is open is asked about all the time: another server may have ended the session, and the pod may have moved.
  async function check(): Promise<void> {
    const connections = [...open()];
    const stillRunning = await running([...new Set(connections.map(({ sandboxId }) => sandboxId))]);
    for (const connection of connections) if (!stillRunning.has(connection.sandboxId)) end(connection);
    await Promise.all([...Map.groupBy(connections, keyOf).values()].map(checkAddress));
  }

  async function checkAddress(connections: AdmittedConnection[]): Promise<void> {
    const { sandboxId, address } = connections[0]!;
    if (await isAddressOf(sandboxId, address, AbortSignal.timeout(ANSWER_MS))) return;
    logRefusal(log, { sandboxId, address, reason: "not the sandbox's address any more" });
    connections.forEach(end);
  }

  function end(connection: AdmittedConnection): void {
    verdicts.delete(keyOf(connection));
    connection.end();
  }

  const checking = clock.every(CHECK_MS, () =>
    // Nobody is cut off because a database or a cluster does not answer.
    check().catch((error: unknown) => log.warn("egress.not_checked", { error: String(error) })),
  );

  return { allows, [Symbol.asyncDispose]: () => checking[Symbol.asyncDispose]() };
}

const keyOf = ({ sandboxId, address }: { sandboxId: SandboxId; address: string }) => `${sandboxId} ${address}`;

const logRefusal = (log: Log, fields: { sandboxId: SandboxId; address: string; reason: string }) => log.warn("egress.pass_refused", fields);
