import { sql } from "kysely";
import type { Db } from "../schema.ts";
import type { SandboxId, SessionId } from "@berth/contract";

// Tokens that agents use through the model relay. One row per session, kept after the session is gone, so that a user's sum
// stays right.

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

export async function findModelUser(db: Db, sandboxId: SandboxId): Promise<ModelUser | null> {
  const row = await db
    .selectFrom("sessions")
    .select(["id", "partner_id", "external_user_id", "template"])
    .where("sandbox_id", "=", sandboxId)
    .executeTakeFirst();
  return row
    ? { sessionId: row.id, partnerId: row.partner_id ?? "", externalUserId: row.external_user_id ?? "", template: row.template }
    : null;
}

export async function addModelUsage(
  db: Db,
  { sessionId, partnerId, externalUserId }: Omit<ModelUser, "template">,
  { input, output }: UsedTokens,
  nowMs: number,
): Promise<void> {
  await db
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
}

// Corrects the count of a request once its real cost is known. `input` and `output` may be negative.
export async function correctModelUsage(db: Db, sessionId: string, { input, output }: UsedTokens, nowMs: number): Promise<void> {
  await db
    .updateTable("model_usage")
    .set({
      input_tokens: sql`input_tokens + ${input}`,
      output_tokens: sql`output_tokens + ${output}`,
      updated_at: nowMs,
    })
    .where("session_id", "=", sessionId)
    .execute();
}

export async function modelUsageOf(db: Db, sessionId: string): Promise<UsedTokens> {
  const row = await db
    .selectFrom("model_usage")
    .select(["input_tokens as input", "output_tokens as output"])
    .where("session_id", "=", sessionId)
    .executeTakeFirst();
  return row ?? { input: 0, output: 0 };
}

// The sum over all sessions of a partner's user.
export async function modelUsageOfUser(db: Db, partnerId: string, externalUserId: string): Promise<UsedTokens> {
  const row = await db
    .selectFrom("model_usage")
    .select(({ fn }) => [fn.sum<number>("input_tokens").as("input"), fn.sum<number>("output_tokens").as("output")])
    .where("partner_id", "=", partnerId)
    .where("external_user_id", "=", externalUserId)
    .executeTakeFirst();
  return { input: Number(row?.input ?? 0), output: Number(row?.output ?? 0) };
}
