import type { SandboxId } from "@berth/contract";
import { SECOND, type Clock } from "../clock.ts";
import type { Log } from "../log.ts";

// Decides who may use the proxy over the network, besides holding an egress token: only the sandbox itself, from the address
// that the engine gave it, while its session runs. Every server checks this on its own, so a session that ends loses its egress
// on all servers within CHECK_MS, and a token that was copied to another machine is useless.
export interface Admission extends AsyncDisposable {
  // Caches its answers briefly. If the store or the engine fails, the last known answer for this sandbox and address applies,
  // or no if there is none.
  allows(sandboxId: SandboxId, address: string): Promise<boolean>;
}

export interface AdmissionDeps {
  // Returns those of the sandboxes whose session runs.
  running: (sandboxIds: readonly SandboxId[]) => Promise<ReadonlySet<SandboxId>>;
  isAddressOf: (sandboxId: SandboxId, address: string, signal: AbortSignal) => Promise<boolean>;
  // The connections that are open now.
  open: () => Iterable<AdmittedConnection>;
  clock: Clock;
  log: Log;
}

export interface AdmittedConnection {
  sandboxId: SandboxId;
  address: string;
  close(): void;
}

export const CHECK_MS = 2 * SECOND;
// Short, because the sandbox may have been resumed a moment ago.
const REFUSAL_TTL_MS = 500;
const ANSWER_MS = 3 * SECOND;
const MAX_VERDICTS = 10_000;

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
    if (verdicts.size >= MAX_VERDICTS) verdicts.clear();
    const verdict: Verdict = { untilMs: Infinity, last: known?.last ?? false, reading: Promise.resolve(false) };
    verdict.reading = read(sandboxId, address, verdict);
    verdicts.set(key, verdict);
    return verdict.reading;
  }

  async function read(sandboxId: SandboxId, address: string, verdict: Verdict): Promise<boolean> {
    try {
      const runs = (await running([sandboxId])).has(sandboxId);
      verdict.last = runs && (await isAddressOf(sandboxId, address, AbortSignal.timeout(ANSWER_MS)));
      if (!verdict.last) logRefusal(log, { sandboxId, address, reason: runs ? "not the sandbox's address" : "the session is not running" });
    } catch (error) {
      log.warn("egress.not_checked", { sandboxId, error: String(error) });
    }
    verdict.untilMs = clock.now() + (verdict.last ? CHECK_MS : REFUSAL_TTL_MS);
    return verdict.last;
  }

  // Open connections are checked again and again: another server may have ended the session, and the pod may have moved.
  async function check(): Promise<void> {
    const connections = [...open()];
    const stillRunning = await running([...new Set(connections.map(({ sandboxId }) => sandboxId))]);
    for (const connection of connections) if (!stillRunning.has(connection.sandboxId)) close(connection);
    await Promise.all([...Map.groupBy(connections, keyOf).values()].map(checkAddress));
  }

  async function checkAddress(connections: AdmittedConnection[]): Promise<void> {
    const { sandboxId, address } = connections[0]!;
    if (await isAddressOf(sandboxId, address, AbortSignal.timeout(ANSWER_MS))) return;
    logRefusal(log, { sandboxId, address, reason: "no longer the sandbox's address" });
    connections.forEach(close);
  }

  function close(connection: AdmittedConnection): void {
    verdicts.delete(keyOf(connection));
    connection.close();
  }

  const checking = clock.every(CHECK_MS, () =>
    // Connections stay open while the database or the cluster does not answer.
    check().catch((error: unknown) => log.warn("egress.not_checked", { error: String(error) })),
  );

  return { allows, [Symbol.asyncDispose]: () => checking[Symbol.asyncDispose]() };
}

const keyOf = ({ sandboxId, address }: { sandboxId: SandboxId; address: string }) => `${sandboxId} ${address}`;

const logRefusal = (log: Log, fields: { sandboxId: SandboxId; address: string; reason: string }) => log.warn("egress.pass_refused", fields);
