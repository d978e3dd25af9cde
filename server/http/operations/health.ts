import type { FastifyInstance } from "fastify";
import { AppError } from "@berth/contract";
import { raceAbort } from "../../bounded-io/race-abort.ts";
import type { Store } from "../../store/open.ts";

// /healthz: the process is alive. /readyz: it can do its work, so send it some.
export function addHealth(app: FastifyInstance, deps: { store: Store; isDraining: () => boolean }): void {
  const config = { public: true, probe: true } as const;
  app.get("/healthz", { config }, (_request, reply) => reply.header("cache-control", "no-store").send({ status: "ok" }));

  app.get("/readyz", { config }, async (_request, reply) => {
    reply.header("cache-control", "no-store");
    if (deps.isDraining()) throw new AppError("unavailable");
    // Migrations run before the server listens, so a database that answers is one of the right version.
    await answersInTime(deps.store.ready());
    return { status: "ready" };
  });
}

async function answersInTime(query: Promise<unknown>): Promise<void> {
  try {
    await raceAbort(query, AbortSignal.timeout(2000));
  } catch (cause) {
    throw new AppError("store_unavailable", { cause });
  }
}
