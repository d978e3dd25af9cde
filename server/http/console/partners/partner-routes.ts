import type { FastifyRequest } from "fastify";
import { AppError, type Key, type KeyWithSecret } from "@berth/contract";
import type { ConsoleList, ConsolePartner } from "@berth/contract/console.ts";
import type { Clock } from "../../../clock.ts";
import type { OwnKeys } from "../../../keys/own-keys.ts";
import { listPartnerUse, type PartnerUse } from "../../../store/console/partner-list.ts";
import type { Store } from "../../../store/open.ts";
import type { Db } from "../../../store/schema.ts";
import { appendAudit } from "../../../store/partners/audit.ts";
import { parseOptionalBody } from "../../requests/request-body.ts";
import { parseCreateKey, parseRotateKey, toIssuedBody, toKeyBody, toRotatedBody } from "../../routes/key-bodies.ts";
import type { Access } from "../access/access.ts";
import type { ConsoleRoute } from "../console-api.ts";

export interface PartnerRouteDeps {
  store: Store;
  clock: Clock;
  ownKeys: OwnKeys;
}

const PAGE = 100;
const MAX_KEYS = 200;

// Partners and their keys. Changes of keys go through the service of the partner API.
export function partnerRoutes({ store, clock, ownKeys }: PartnerRouteDeps): ConsoleRoute[] {
  const audit = (tx: Db, access: Access, action: string, keyId: string) =>
    appendAudit(tx, access.auditEntry(action, requirePartner(access), keyId), clock.now());
  return [
    {
      method: "GET",
      path: "/partners",
      async handle({ partnerId }, request): Promise<ConsoleList<ConsolePartner>> {
        const { cursor } = request.query as { cursor?: string | string[] };
        const rows = await listPartnerUse(store.db, partnerId, { afterId: typeof cursor === "string" ? cursor : "", limit: PAGE + 1 });
        const page = rows.slice(0, PAGE);
        return { data: page.map(toConsolePartner), nextCursor: rows.length > PAGE ? page.at(-1)!.id : null };
      },
    },
    {
      method: "GET",
      path: "/keys",
      async handle(access): Promise<ConsoleList<Key>> {
        const keys = await ownKeys.list(requirePartner(access));
        return { data: keys.toReversed().slice(0, MAX_KEYS).map(toKeyBody), nextCursor: null };
      },
    },
    {
      method: "POST",
      path: "/keys",
      async handle(access, request): Promise<KeyWithSecret> {
        const partnerId = requirePartner(access);
        const key = parseCreateKey(parseOptionalBody(request) ?? {}, clock.now());
        return toIssuedBody(await ownKeys.create(partnerId, key, (tx, { id }) => audit(tx, access, "key.issue", id)));
      },
    },
    {
      method: "POST",
      path: "/keys/:id/rotate",
      async handle(access, request): Promise<KeyWithSecret> {
        const partnerId = requirePartner(access);
        const options = parseRotateKey(parseOptionalBody(request) ?? {}, clock.now());
        return toRotatedBody(
          await ownKeys.rotate(partnerId, idOf(request), options, async (tx, { old, issued }) => {
            await audit(tx, access, "key.rotate", old.id);
            await audit(tx, access, "key.issue", issued.id);
          }),
        );
      },
    },
    {
      method: "POST",
      path: "/keys/:id/revoke",
      async handle(access, request): Promise<Key> {
        const partnerId = requirePartner(access);
        return toKeyBody(await ownKeys.revoke(partnerId, idOf(request), (tx, { id }) => audit(tx, access, "key.revoke", id)));
      },
    },
  ];
}

// For calls that concern one partner, which an operator has to name.
export function requirePartner({ partnerId }: Access): string {
  if (partnerId === null) throw new AppError("validation_failed", { details: [{ field: "partner", message: "Required" }] });
  return partnerId;
}

const idOf = (request: FastifyRequest): string => (request.params as { id: string }).id;

export const toConsolePartner = (partner: PartnerUse): ConsolePartner => ({
  id: partner.id,
  name: partner.name,
  state: partner.state,
  live: partner.live,
  maxSessions: partner.maxSessions,
  maxSessionsPerUser: partner.maxSessionsPerUser,
  ratePerMinute: partner.ratePerMinute,
  origins: partner.origins,
  createdAt: new Date(partner.createdAt).toISOString(),
});
