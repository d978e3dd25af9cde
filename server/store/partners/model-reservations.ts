import { randomUUID } from "node:crypto";
import type { SessionId } from "@berth/contract";
import type { Store } from "../open.ts";
import type { Db } from "../schema.ts";
import { addModelUsage, correctModelUsage, modelUsageOf, type ModelUser, type UsedTokens } from "./model-usage.ts";

// Output tokens that requests to the model may still cost, for sessions with a cap. They count against the cap until the request is
// settled, on every server. What a dead server has reserved counts as used when its time is over.

export interface Reservation {
  id: string;
  user: ModelUser;
  output: number;
  addedAtMs: number;
}

export interface WantedTokens {
  // The tokens of the prompt, which count as used at once.
  input: number;
  // The most that the answer may cost, and the least that is worth a request.
  output: number;
  leastOutput: number;
  cap: number;
}

// `wait`: not enough is left while other requests of the session have reservations. `exhausted`: not enough is left.
export async function reserveTokens(
  store: Store,
  user: ModelUser,
  { input, output, leastOutput, cap }: WantedTokens,
  { nowMs, expiresAtMs }: { nowMs: number; expiresAtMs: number },
): Promise<Reservation | "wait" | "exhausted"> {
  await settleExpired(store, nowMs);
  try {
    return await store.transaction(async (tx) => {
      // First, because it locks the session's row on PostgreSQL, so that two requests cannot both take the rest.
      await addModelUsage(tx, user, { input, output: 0 }, nowMs);
      const used = await modelUsageOf(tx, user.sessionId);
      const reserved = await reservedBy(tx, user.sessionId);
      const left = cap - used.input - used.output - reserved;
      if (left < output && reserved > 0) throw new NotReserved("wait");
      if (left < leastOutput) throw new NotReserved("exhausted");
      const reservation = { id: randomUUID(), user, output: Math.min(output, left), addedAtMs: nowMs };
      await insertReservation(tx, reservation, expiresAtMs);
      return reservation;
    });
  } catch (error) {
    if (error instanceof NotReserved) return error.outcome;
    throw error;
  }
}

// Ends a reservation and corrects the count of its request, as correctModelUsage does. If it was settled as expired, its tokens are
// in the count.
export async function settleReservation(
  tx: Db,
  { id, user, output, addedAtMs }: Reservation,
  difference: UsedTokens,
  nowMs: number,
): Promise<void> {
  const counted = (await removeReservation(tx, id)) ? 0 : output;
  await correctModelUsage(tx, user, { ...difference, output: difference.output - counted }, { nowMs, addedAtMs });
}

// Rolls the transaction back.
class NotReserved extends Error {
  readonly outcome: "wait" | "exhausted";
  constructor(outcome: "wait" | "exhausted") {
    super(outcome);
    this.outcome = outcome;
  }
}

const EXPIRED_AT_ONCE = 100;

async function settleExpired(store: Store, nowMs: number): Promise<void> {
  const expired = await store.db
    .selectFrom("model_reservations")
    .selectAll()
    .where("expires_at", "<=", nowMs)
    .orderBy("expires_at")
    .limit(EXPIRED_AT_ONCE)
    .execute();
  // One by one: a transaction that locked several sessions could wait for another one that locks them in another order.
  for (const { id, session_id, partner_id, external_user_id, template, output_tokens: output, added_at: addedAtMs } of expired) {
    const user = { sessionId: session_id as SessionId, partnerId: partner_id, externalUserId: external_user_id, template };
    await store.transaction(async (tx) => {
      if (await removeReservation(tx, id)) await correctModelUsage(tx, user, { input: 0, output }, { nowMs, addedAtMs });
    });
  }
}

async function removeReservation(tx: Db, id: string): Promise<boolean> {
  return (await tx.deleteFrom("model_reservations").where("id", "=", id).executeTakeFirst()).numDeletedRows > 0n;
}

async function reservedBy(tx: Db, sessionId: string): Promise<number> {
  const { sum } = await tx
    .selectFrom("model_reservations")
    .select(({ fn }) => fn.sum<number | null>("output_tokens").as("sum"))
    .where("session_id", "=", sessionId)
    .executeTakeFirstOrThrow();
  return Number(sum ?? 0);
}

async function insertReservation(tx: Db, { id, user, output, addedAtMs }: Reservation, expiresAtMs: number): Promise<void> {
  await tx
    .insertInto("model_reservations")
    .values({
      id,
      session_id: user.sessionId,
      partner_id: user.partnerId,
      external_user_id: user.externalUserId,
      template: user.template,
      output_tokens: output,
      added_at: addedAtMs,
      expires_at: expiresAtMs,
    })
    .execute();
}
