import type { FastifyInstance, FastifyRequest } from "fastify";
import {
  CreateKey,
  RotateKey,
  type FieldFault,
  type Key as KeyBody,
  type KeyList,
  type KeyWithSecret,
  type RotatedKey as RotatedKeyBody,
} from "@berth/contract";
import type { Clock } from "../../clock.ts";
import type { IssuedKey, Key } from "../../keys/keys.ts";
import type { NewKey, OwnKeys, RotatedKey } from "../../keys/own-keys.ts";
import { appendAudit } from "../../store/partners/audit.ts";
import type { Db } from "../../store/schema.ts";
import { requireNoFaults } from "../requests/field-faults.ts";
import { parseOptionalBody, type JsonObject } from "../requests/request-body.ts";
import { addRoute } from "../requests/route.ts";
import { compileFaultFinder } from "../requests/schema-faults.ts";
import type { Idempotency, Result } from "../requests/idempotency.ts";
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
      const key = parseCreate(parseOptionalBody(request) ?? {}, clock.now());
      const issued = await ownKeys.create(partnerIdOf(request), key, async (tx, made) => {
        await audit(tx, request, "key.issue", made.id);
        await save?.(tx, toCreated(made));
      });
      return toCreated(issued);
    }),
  );

  addRoute(app, "listKeys", async (request): Promise<KeyList> => ({ data: (await ownKeys.list(partnerIdOf(request))).map(toKey) }));

  addRoute(app, "rotateKey", (request, reply) =>
    runOnce(request, reply, async (save) => {
      const options = parseRotate(parseOptionalBody(request) ?? {});
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
    return toKey(revoked);
  });
}

const findCreateFaults = compileFaultFinder(CreateKey);
const findRotateFaults = compileFaultFinder(RotateKey);

function parseCreate(body: JsonObject, nowMs: number): NewKey {
  const faults = findCreateFaults(body);
  const { expiresAt, ...rest } = body as CreateKey;
  const expiresAtMs = typeof expiresAt === "string" ? Date.parse(expiresAt) : null;
  if (faults.length === 0 && expiresAtMs !== null) faults.push(...expiryFaults(expiresAtMs, nowMs));
  requireNoFaults(faults);
  return { ...(rest.name !== undefined && { name: rest.name }), ...(rest.scope && { scope: rest.scope }), expiresAt: expiresAtMs };
}

const expiryFaults = (expiresAt: number, nowMs: number): FieldFault[] =>
  expiresAt > nowMs ? [] : [{ field: "expiresAt", message: "Must be a time in the future" }];

function parseRotate(body: JsonObject): RotateKey {
  requireNoFaults(findRotateFaults(body));
  const { overlapMs } = body as RotateKey;
  return { ...(overlapMs !== undefined && { overlapMs }) };
}

const toCreated = (issued: IssuedKey): Result => ({ status: 201, body: toIssued(issued) });

const toRotated = ({ issued, old }: RotatedKey): Result => ({
  status: 200,
  body: {
    ...toIssued(issued),
    previousKeyExpiresAt: timeOf(Math.min(old.expiresAt ?? Infinity, old.revokedAt ?? Infinity)),
  } satisfies RotatedKeyBody,
});

const toIssued = (issued: IssuedKey): KeyWithSecret => ({ ...toKey(issued), key: issued.key });

const toKey = ({ id, name, scope, hint, state, createdAt, lastUsedAt, expiresAt, revokedAt }: Key): KeyBody => ({
  id,
  name,
  scope,
  hint,
  state,
  createdAt: timeOf(createdAt),
  lastUsedAt: lastUsedAt === null ? null : timeOf(lastUsedAt),
  expiresAt: expiresAt === null ? null : timeOf(expiresAt),
  revokedAt: revokedAt === null ? null : timeOf(revokedAt),
});

const timeOf = (ms: number): string => new Date(ms).toISOString();
