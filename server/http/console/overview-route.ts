import type { ConsoleOverview, ConsoleServer } from "@berth/contract/console.ts";
import { MINUTE, type Clock } from "../../clock.ts";
import { countCreates, countSessions } from "../../store/console/counts.ts";
import type { Store } from "../../store/open.ts";
import { countLive } from "../../store/sessions/listing/count.ts";
import { findPartnerFast } from "../../store/partners/partners.ts";
import { readBacklog } from "../../store/webhooks/backlog.ts";
import type { ConsoleRoute } from "./console-api.ts";

export interface OverviewDeps {
  store: Store;
  clock: Clock;
  readServer(): Promise<Omit<ConsoleServer, "webhooks">>;
}

export function overviewRoute({ store, clock, readServer }: OverviewDeps): ConsoleRoute {
  return {
    method: "GET",
    path: "/overview",
    async handle({ viewer, partnerId }): Promise<ConsoleOverview> {
      return {
        sessions: await countSessions(store.db, partnerId),
        creates: await countCreates(store.db, partnerId, clock.now() - MINUTE),
        quota: partnerId === null ? null : await readQuota(partnerId),
        server: viewer.kind === "operator" ? { ...(await readServer()), webhooks: await readWebhooks() } : null,
      };
    },
  };

  async function readWebhooks(): Promise<ConsoleServer["webhooks"]> {
    const { pending, dueSinceMs } = await readBacklog(store.db, clock.now());
    return { pending, dueSince: dueSinceMs === null ? null : new Date(dueSinceMs).toISOString() };
  }

  async function readQuota(partnerId: string) {
    const partner = await findPartnerFast(store, partnerId);
    return partner && { live: await countLive(store.db, { partnerId }), maxSessions: partner.maxSessions };
  }
}
