import type { IncomingMessage, ServerResponse } from "node:http";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { SandboxId, Template } from "@berth/contract";
import type { Log } from "../log.ts";
import { parseAllowances } from "./allowances.ts";
import { systemResolve, type Resolve } from "./dial.ts";
import { createDoor } from "./door.ts";
import { listenInFolder } from "./listen.ts";
import type { Target } from "./policy.ts";

// The way out of sandboxes. Each has a Unix socket of its own, `{dataDir}/egress/{sandboxId}/proxy.sock`, whose folder the
// driver shows inside, read-only, at /run/berth-egress. Who is asking is known by the socket: there is nothing to forge.
// `open` comes before the driver's create or resume, and again for every live sandbox after a restart of the server;
// programs inside find the new socket under the old name. Every method may be repeated.
export interface Egress extends AsyncDisposable {
  open(sandboxId: SandboxId, template: Pick<Template, "egress">): Promise<void>;
  // Cuts what is under way and removes the socket.
  close(sandboxId: SandboxId): Promise<void>;
  readonly counters: Readonly<EgressCounters>;
}

export interface EgressCounters {
  allowed: number;
  refused: number;
}

export interface EgressOptions {
  dataDir: string;
  log: Log;
  // BERTH_EGRESS_ALLOW.
  allow?: readonly string[];
  // Answers requests for `/model/…`: the model relay.
  onModel?: (request: IncomingMessage, response: ServerResponse, sandboxId: SandboxId) => void;
  resolve?: Resolve;
  dialTimeoutMs?: number;
  idleTimeoutMs?: number;
  maxConnections?: number;
}

const LOGGED_REFUSALS_A_MINUTE = 30;

export function createEgress(options: EgressOptions): Egress {
  const { dataDir, allow = [], log, onModel, resolve = systemResolve } = options;
  const { dialTimeoutMs = 10_000, idleTimeoutMs = 300_000, maxConnections = 256 } = options;
  const parent = join(dataDir, "egress");
  const allowances = parseAllowances(allow);
  const counters: EgressCounters = { allowed: 0, refused: 0 };
  const doors = new Map<SandboxId, Promise<AsyncDisposable>>();

  function openDoor(sandboxId: SandboxId, policy: Template["egress"]): Promise<AsyncDisposable> {
    const logRefusal = createRefusalLog(log, sandboxId);
    const door = createDoor({
      policy,
      allowances,
      resolve,
      timeoutMs: dialTimeoutMs,
      idleTimeoutMs,
      maxConnections,
      onModel: onModel && ((request, response) => onModel(request, response, sandboxId)),
      onAllowed: () => void counters.allowed++,
      onRefused(target, reason) {
        counters.refused++;
        logRefusal(target, reason);
      },
    });
    return listenInFolder(door, parent, sandboxId);
  }

  async function shut(sandboxId: SandboxId): Promise<void> {
    const door = await doors.get(sandboxId)?.catch(() => undefined);
    doors.delete(sandboxId);
    await door?.[Symbol.asyncDispose]();
  }

  return {
    counters,
    async open(sandboxId, { egress }) {
      const opening = doors.get(sandboxId) ?? openDoor(sandboxId, egress);
      doors.set(sandboxId, opening);
      try {
        await opening;
      } catch (error) {
        doors.delete(sandboxId);
        throw error;
      }
    },
    async close(sandboxId) {
      await shut(sandboxId);
      await rm(join(parent, sandboxId), { recursive: true, force: true });
    },
    // The folders stay: sandboxes outlive the server and look there for the next one's socket.
    async [Symbol.asyncDispose]() {
      await Promise.all([...doors.keys()].map(shut));
    },
  };
}

// A sandbox can be refused as often as it likes; the log takes a bounded part of it.
function createRefusalLog(log: Log, sandboxId: SandboxId) {
  let minute = 0;
  let logged = 0;
  return (target: Target | undefined, reason: string) => {
    const now = Math.floor(performance.now() / 60_000);
    if (now !== minute) [minute, logged] = [now, 0];
    if (logged++ < LOGGED_REFUSALS_A_MINUTE) log.warn("egress.refused", { sandboxId, ...target, reason });
  };
}
