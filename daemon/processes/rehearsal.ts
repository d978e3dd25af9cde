import { rmSync } from "node:fs";
import { join } from "node:path";
import type { Bases } from "../files/bases.ts";
import type { Route } from "../http/route.ts";
import { openOutbox } from "./outbox.ts";
import { createProcesses, type ProcessesDeps } from "./processes.ts";
import { startAndDescribe } from "./process-routes.ts";

// Starts a process like `POST /processes`, and forgets it: it is in no list, and the server does not learn of its end. The first process of
// a daemon takes twice as long as the next, so a sandbox that waits for its session has this one.
export function rehearsalRoutes({ bases, ...deps }: Omit<ProcessesDeps, "outbox"> & { bases: Bases }): Route[] {
  return [
    {
      method: "POST",
      path: "/internal/rehearse",
      async handle(call) {
        try {
          const outbox = openOutbox(join(deps.folder, "outbox"));
          await startAndDescribe(createProcesses({ ...deps, outbox }), bases, call);
        } finally {
          rmSync(deps.folder, { recursive: true, force: true });
        }
      },
    },
  ];
}
