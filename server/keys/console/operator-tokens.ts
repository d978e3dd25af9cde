import { AppError, newId } from "@berth/contract";
import { hashKey, hintOf, newOperatorToken } from "../../api-key-format.ts";
import type { Clock } from "../../clock.ts";
import {
  findOperatorToken,
  insertOperatorToken,
  listOperatorTokens as readTokens,
  setOperatorTokenRevoked,
  type StoredOperatorToken,
} from "../../store/console/operator-tokens.ts";
import type { Db } from "../../store/schema.ts";

// An operator signs in to the console with such a token. Its secret is shown once, stored nowhere and not part of this.
export interface OperatorToken extends StoredOperatorToken {
  state: "active" | "expired" | "revoked";
}

export interface IssuedOperatorToken extends OperatorToken {
  token: string;
}

const MAX_LISTED = 200;

export async function issueOperatorToken(
  db: Db,
  clock: Clock,
  { name, expiresAt }: { name: string; expiresAt: number },
): Promise<IssuedOperatorToken> {
  const token = newOperatorToken();
  const nowMs = clock.now();
  const id = newId("opr", nowMs);
  const stored: StoredOperatorToken = { id, hint: hintOf(token), name, createdAt: nowMs, expiresAt, lastUsedAt: null, revokedAt: null };
  await insertOperatorToken(db, { ...stored, hash: hashKey(token) });
  return { ...withState(stored, nowMs), token };
}

export async function listOperatorTokens(db: Db, clock: Clock): Promise<OperatorToken[]> {
  const nowMs = clock.now();
  return (await readTokens(db, MAX_LISTED)).map((stored) => withState(stored, nowMs));
}

// Also ends the logins that were made with the token. Idempotent.
export async function revokeOperatorToken(db: Db, clock: Clock, id: string): Promise<OperatorToken> {
  await setOperatorTokenRevoked(db, id, clock.now());
  const stored = await findOperatorToken(db, id);
  if (!stored) throw new AppError("not_found", { message: `There is no operator token ${id}` });
  return withState(stored, clock.now());
}

function withState(stored: StoredOperatorToken, nowMs: number): OperatorToken {
  return { ...stored, state: stored.revokedAt !== null ? "revoked" : stored.expiresAt <= nowMs ? "expired" : "active" };
}
