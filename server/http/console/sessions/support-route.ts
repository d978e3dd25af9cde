import type { FastifyRequest } from "fastify";
import { AppError } from "@berth/contract";
import type { ConsoleSupportLink } from "@berth/contract/console.ts";
import { SUPPORT_VISITOR } from "@berth/contract/workspace/visitor.ts";
import type { Clock } from "../../../clock.ts";
import type { Tickets } from "../../../gateway/access/launch-ticket.ts";
import { getPartner } from "../../../keys/partners.ts";
import type { ServerDirectory } from "../../../sessions/server-directory.ts";
import type { Sessions } from "../../../sessions/sessions.ts";
import type { Store } from "../../../store/open.ts";
import { appendAudit } from "../../../store/partners/audit.ts";
import type { ConsoleRoute } from "../console-api.ts";
import { requireSession } from "./session-detail.ts";

export interface SupportRouteDeps {
  store: Store;
  clock: Clock;
  sessions: Pick<Sessions, "get">;
  tickets: Pick<Tickets, "issueLaunchUrl">;
  servers: Pick<ServerDirectory, "learn" | "baseUrlOf">;
}

// A link with which the operator's support looks at a workspace, where its partner allows it. It is in the audit log of both, and the
// user sees the visit.
export function supportRoute({ store, clock, sessions, tickets, servers }: SupportRouteDeps): ConsoleRoute {
  return {
    method: "POST",
    path: "/sessions/:id/support",
    operatorOnly: true,
    async handle(access, request: FastifyRequest): Promise<ConsoleSupportLink> {
      const { id, partner_id: partnerId } = await requireSession(store, access.partnerId, (request.params as { id: string }).id);
      if (!(await getPartner(store.db, partnerId)).supportAccess)
        throw new AppError("forbidden", { message: "The partner does not allow support to look at its workspaces" });
      const session = await sessions.get(partnerId, id);
      if (session.status === "destroyed") throw new AppError("session_not_found");
      await appendAudit(store.db, access.auditEntry("session.support", partnerId, id), clock.now());
      await servers.learn([session]);
      return { url: tickets.issueLaunchUrl({ ...session, visitor: SUPPORT_VISITOR }, servers.baseUrlOf(session)).url };
    },
  };
}
