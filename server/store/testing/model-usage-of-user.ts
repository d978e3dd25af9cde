import type { UsedTokens } from "../partners/model-usage.ts";
import type { Db } from "../schema.ts";

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
