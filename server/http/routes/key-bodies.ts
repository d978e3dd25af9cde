import {
  CreateKey,
  RotateKey,
  type FieldFault,
  type Key as KeyBody,
  type KeyWithSecret,
  type RotatedKey as RotatedKeyBody,
} from "@berth/contract";
import type { IssuedKey, Key } from "../../keys/keys.ts";
import type { NewKey, RotatedKey } from "../../keys/own-keys.ts";
import { requireNoFaults } from "../requests/field-faults.ts";
import type { JsonObject } from "../requests/request-body.ts";
import { compileFaultFinder } from "../requests/schema-faults.ts";

// The bodies of the key routes.

const findCreateFaults = compileFaultFinder(CreateKey);
const findRotateFaults = compileFaultFinder(RotateKey);

export function parseCreateKey(body: JsonObject, nowMs: number): NewKey {
  const faults = findCreateFaults(body);
  const { expiresAt, ...rest } = body as CreateKey;
  const expiresAtMs = typeof expiresAt === "string" ? Date.parse(expiresAt) : null;
  if (faults.length === 0 && expiresAtMs !== null) faults.push(...expiryFaults(expiresAtMs, nowMs));
  requireNoFaults(faults);
  return { ...(rest.name !== undefined && { name: rest.name }), ...(rest.scope && { scope: rest.scope }), expiresAt: expiresAtMs };
}

const expiryFaults = (expiresAt: number, nowMs: number): FieldFault[] =>
  expiresAt > nowMs ? [] : [{ field: "expiresAt", message: "Must be a time in the future" }];

export function parseRotateKey(body: JsonObject): RotateKey {
  requireNoFaults(findRotateFaults(body));
  const { overlapMs } = body as RotateKey;
  return { ...(overlapMs !== undefined && { overlapMs }) };
}

export const toRotatedBody = ({ issued, old }: RotatedKey): RotatedKeyBody => ({
  ...toIssuedBody(issued),
  previousKeyExpiresAt: timeOf(Math.min(old.expiresAt ?? Infinity, old.revokedAt ?? Infinity)),
});

export const toIssuedBody = (issued: IssuedKey): KeyWithSecret => ({ ...toKeyBody(issued), key: issued.key });

export const toKeyBody = ({ id, name, scope, hint, state, createdAt, lastUsedAt, expiresAt, revokedAt }: Key): KeyBody => ({
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
