import type { FastifyRequest } from "fastify";
import type { SessionToken } from "@berth/contract";
import type { ConsoleList } from "@berth/contract/console.ts";
import type { Clock } from "../../../clock.ts";
import type { SessionTokens } from "../../../keys/session-tokens.ts";
import type { Store } from "../../../store/open.ts";
import { appendAudit } from "../../../store/partners/audit.ts";
import { toToken } from "../../session-format/token-view.ts";
import type { ConsoleRoute } from "../console-api.ts";
import { requireSession } from "./session-detail.ts";

export interface TokenRouteDeps {
  sessionTokens: Pick<SessionTokens, "list" | "revoke">;
  store: Store;
  clock: Clock;
}

// The tokens of a session: a person at the console sees and revokes them, and creates none.
export const tokenRoutes = ({ sessionTokens, store, clock }: TokenRouteDeps): ConsoleRoute[] => [
  {
    method: "GET",
    path: "/sessions/:id/tokens",
    async handle({ partnerId }, request): Promise<ConsoleList<SessionToken>> {
      const { id } = await requireSession(store, partnerId, paramsOf(request).id);
      return { data: (await sessionTokens.list(id)).map(toToken).toReversed(), nextCursor: null };
    },
  },
  {
    method: "POST",
    path: "/sessions/:id/tokens/:tokenId/revoke",
    async handle(access, request): Promise<SessionToken> {
      const { id, tokenId } = paramsOf(request);
      const session = await requireSession(store, access.partnerId, id);
      const owner = { id: session.id, partnerId: session.partner_id };
      const revoked = await sessionTokens.revoke(owner, tokenId, (tx, token) =>
        appendAudit(tx, access.auditEntry("token.revoke", owner.partnerId, token.id), clock.now()),
      );
      return toToken(revoked);
    },
  },
];

const paramsOf = (request: FastifyRequest) => request.params as { id: string; tokenId: string };
