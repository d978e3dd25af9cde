import { sql } from "kysely";
import type { EgressPolicy, SandboxId, SessionId } from "@berth/contract";
import type { Db } from "../schema.ts";
import { addUsage, dayOf, ownerOf } from "../usage/days.ts";

// Tokens that agents use through the model relay. One row per session, kept after the session is gone, so that a user's sum
// stays right. Each change is also part of the usage of a day, so call both in a transaction.

export interface UsedTokens {
  input: number;
  output: number;
}

// The partner, session and user that a sandbox's tokens are counted for.
export interface ModelUser {
  sessionId: SessionId;
  partnerId: string;
  externalUserId: string;
  template: string;
}

// `egress` is that of the session; null: that of its template.
export async function findModelUser(db: Db, sandboxId: SandboxId): Promise<{ user: ModelUser; egress: EgressPolicy | null } | null> {
  const row = await db
    .selectFrom("sessions")
    .select(["id", "partner_id", "external_user_id", "template", "egress"])
    .where("sandbox_id", "=", sandboxId)
    .executeTakeFirst();
  if (!row) return null;
  const { id: sessionId, partner_id: partnerId, external_user_id: externalUserId, template, egress } = row;
  return {
    user: { sessionId, partnerId: partnerId ?? "", externalUserId: externalUserId ?? "", template },
    egress: egress === null ? null : (JSON.parse(egress) as EgressPolicy),
  };
}

export async function addModelUsage(tx: Db, user: ModelUser, { input, output }: UsedTokens, nowMs: number): Promise<void> {
  const { sessionId, partnerId, externalUserId } = user;
  await tx
    .insertInto("model_usage")
    .values({
      session_id: sessionId,
      partner_id: partnerId,
      external_user_id: externalUserId,
      requests: 1,
      input_tokens: input,
      output_tokens: output,
      updated_at: nowMs,
    })
    .onConflict((conflict) =>
      conflict.column("session_id").doUpdateSet({
        requests: sql`model_usage.requests + 1`,
        input_tokens: sql`model_usage.input_tokens + excluded.input_tokens`,
        output_tokens: sql`model_usage.output_tokens + excluded.output_tokens`,
        updated_at: nowMs,
      }),
    )
    .execute();
  await addToDay(tx, user, { input, output }, nowMs);
}

// Corrects the count of a request that was added at `addedAtMs`, once its real cost is known. `input` and `output` may be negative.
export async function correctModelUsage(
  tx: Db,
  user: ModelUser,
  { input, output }: UsedTokens,
  { nowMs, addedAtMs }: { nowMs: number; addedAtMs: number },
): Promise<void> {
  await tx
    .updateTable("model_usage")
    .set({
      input_tokens: sql`input_tokens + ${input}`,
      output_tokens: sql`output_tokens + ${output}`,
      updated_at: nowMs,
    })
    .where("session_id", "=", user.sessionId)
    .execute();
  await addToDay(tx, user, { input, output }, addedAtMs);
}

// A sandbox of the pool belongs to no partner.
async function addToDay(tx: Db, { sessionId, ...user }: ModelUser, { input, output }: UsedTokens, atMs: number): Promise<void> {
  if (user.partnerId === "") return;
  await addUsage(tx, [{ ...ownerOf({ id: sessionId, ...user }), day: dayOf(atMs), input_tokens: input, output_tokens: output }]);
}

export async function modelUsageOf(db: Db, sessionId: string): Promise<UsedTokens> {
  const row = await db
    .selectFrom("model_usage")
    .select(["input_tokens as input", "output_tokens as output"])
    .where("session_id", "=", sessionId)
    .executeTakeFirst();
  return row ?? { input: 0, output: 0 };
}
