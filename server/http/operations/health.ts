import type { FastifyInstance } from "fastify";
import { AppError } from "@berth/contract";
import { raceAbort } from "../../bounded-io/race-abort.ts";
import type { DiskLevel } from "../../disk-space.ts";
import type { Store } from "../../store/open.ts";

export interface HealthDeps {
  store: Store;
  isDraining: () => boolean;
  // Absent if no disk of this machine matters.
  disk?: { level(): DiskLevel } | undefined;
}

// /healthz: the process is alive. /readyz: it can serve requests. On a full disk it still serves those that need no space, so it is ready
// and says that it is degraded.
export function addHealth(app: FastifyInstance, deps: HealthDeps): void {
  const config = { public: true, probe: true } as const;
  app.get("/healthz", { config }, (_request, reply) => reply.header("cache-control", "no-store").send({ status: "ok" }));

  app.get("/readyz", { config }, async (_request, reply) => {
    reply.header("cache-control", "no-store");
    if (deps.isDraining()) throw new AppError("unavailable");
    // Migrations run before the server listens, so a database that answers has the right schema.
    await requireStore(deps.store);
    const level = deps.disk?.level() ?? "enough";
    return level === "enough" ? { status: "ready" } : { status: "degraded", reasons: [`disk_${level}`] };
  });
}

const STORE_TIMEOUT_MS = 2_000;

export async function requireStore(store: Store): Promise<void> {
  try {
    await raceAbort(store.ready(), AbortSignal.timeout(STORE_TIMEOUT_MS));
  } catch (cause) {
    throw new AppError("store_unavailable", { cause });
  }
}
