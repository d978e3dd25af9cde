import type { FastifyInstance } from "fastify";
import { AppError } from "@berth/contract";
import { raceAbort } from "../../bounded-io/race-abort.ts";
import type { Store } from "../../store/open.ts";

// /healthz: the process is alive. /readyz: it can serve requests.
export function addHealth(app: FastifyInstance, deps: { store: Store; isDraining: () => boolean }): void {
  const config = { public: true, probe: true } as const;
  app.get("/healthz", { config }, (_request, reply) => reply.header("cache-control", "no-store").send({ status: "ok" }));

  app.get("/readyz", { config }, async (_request, reply) => {
    reply.header("cache-control", "no-store");
    if (deps.isDraining()) throw new AppError("unavailable");
    // Migrations run before the server listens, so a database that answers has the right schema.
    await requireStore(deps.store);
    return { status: "ready" };
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
