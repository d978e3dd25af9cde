import type { FastifyInstance, FastifyRequest } from "fastify";
import type { KeyList } from "@berth/contract";
import type { Clock } from "../../clock.ts";
import type { IssuedKey } from "../../keys/keys.ts";
import type { OwnKeys, RotatedKey } from "../../keys/own-keys.ts";
import { appendAudit } from "../../store/partners/audit.ts";
import type { Db } from "../../store/schema.ts";
import { parseOptionalBody } from "../requests/request-body.ts";
import { addRoute } from "../requests/route.ts";
import type { Idempotency, Result } from "../requests/idempotency.ts";
import { parseCreateKey, parseRotateKey, toIssuedBody, toKeyBody, toRotatedBody } from "./key-bodies.ts";
import { auditEntry, idOf, partnerIdOf } from "./route-context.ts";

export interface KeyRouteDeps {
  ownKeys: OwnKeys;
  idempotency: Idempotency;
  clock: Clock;
}

// A key itself is sent only in the reply to the request that creates it.
export function addKeyRoutes(app: FastifyInstance, { ownKeys, idempotency: { runOnce }, clock }: KeyRouteDeps): void {
  const audit = (tx: Db, request: FastifyRequest, action: string, id: string) =>
    appendAudit(tx, auditEntry(request, action, id), clock.now());

  addRoute(app, "createKey", (request, reply) =>
    runOnce(request, reply, async (save) => {
      const key = parseCreateKey(parseOptionalBody(request) ?? {}, clock.now());
      const issued = await ownKeys.create(partnerIdOf(request), key, async (tx, made) => {
        await audit(tx, request, "key.issue", made.id);
        await save?.(tx, toCreated(made));
      });
      return toCreated(issued);
    }),
  );

  addRoute(app, "listKeys", async (request): Promise<KeyList> => ({ data: (await ownKeys.list(partnerIdOf(request))).map(toKeyBody) }));

  addRoute(app, "rotateKey", (request, reply) =>
    runOnce(request, reply, async (save) => {
      const options = parseRotateKey(parseOptionalBody(request) ?? {}, clock.now());
      const rotated = await ownKeys.rotate(partnerIdOf(request), idOf(request), options, async (tx, made) => {
        await audit(tx, request, "key.rotate", made.old.id);
        await audit(tx, request, "key.issue", made.issued.id);
        await save?.(tx, toRotated(made));
      });
      return toRotated(rotated);
    }),
  );

  addRoute(app, "revokeKey", async (request) => {
    const revoked = await ownKeys.revoke(partnerIdOf(request), idOf(request), (tx, { id }) => audit(tx, request, "key.revoke", id));
    return toKeyBody(revoked);
  });
}

const toCreated = (issued: IssuedKey): Result => ({ status: 201, body: toIssuedBody(issued) });
const toRotated = (rotated: RotatedKey): Result => ({ status: 200, body: toRotatedBody(rotated) });
