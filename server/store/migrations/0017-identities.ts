import type { Kysely } from "kysely";

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable("operator_tokens").addColumn("oidc_subject", "text").execute();
  await db.schema.alterTable("operator_tokens").addColumn("oidc_rule", "text").execute();
  await db.schema
    .alterTable("partners")
    .addColumn("support_access", "integer", (c) => c.notNull().defaultTo(0))
    .execute();
  await db.schema.createIndex("operator_tokens_subject").on("operator_tokens").columns(["oidc_subject"]).execute();
}
