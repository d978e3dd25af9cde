import {
  CreateKey,
  RotateKey,
  type FieldFault,
  type Key as KeyBody,
  type KeyWithSecret,
  type RotatedKey as RotatedKeyBody,
} from "@berth/contract";
import type { IssuedKey, Key, Rotation } from "../../keys/keys.ts";
import type { NewKey, RotatedKey } from "../../keys/own-keys.ts";
import { requireNoFaults } from "../requests/field-faults.ts";
import type { JsonObject } from "../requests/request-body.ts";
import { compileFaultFinder } from "../requests/schema-faults.ts";

// The bodies of the key routes.

const findCreateFaults = compileFaultFinder(CreateKey);
const findRotateFaults = compileFaultFinder(RotateKey);

export function parseCreateKey(body: JsonObject, nowMs: number): NewKey {
  const faults = findCreateFaults(body);
  const { name, scope, expiresAt = null } = body as CreateKey;
  requireNoFaults(faults.length > 0 ? faults : expiryFaults(expiresAt, nowMs));
  return { ...(name !== undefined && { name }), ...(scope && { scope }), expiresAt: toMs(expiresAt) };
}

export function parseRotateKey(body: JsonObject, nowMs: number): Rotation {
  const faults = findRotateFaults(body);
  const { overlapMs, expiresAt } = body as RotateKey;
  requireNoFaults(faults.length > 0 ? faults : expiryFaults(expiresAt ?? null, nowMs));
  return { ...(overlapMs !== undefined && { overlapMs }), ...(expiresAt !== undefined && { expiresAt: toMs(expiresAt) }) };
}

const expiryFaults = (expiresAt: string | null, nowMs: number): FieldFault[] =>
  expiresAt === null || Date.parse(expiresAt) > nowMs ? [] : [{ field: "expiresAt", message: "Must be a time in the future" }];

const toMs = (time: string | null): number | null => (time === null ? null : Date.parse(time));

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
