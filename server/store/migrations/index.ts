import type { Kysely } from "kysely";
import type { Engine } from "../open.ts";
import { up as initial } from "./0001-initial.ts";
import { up as partnerApi } from "./0002-partner-api.ts";
import { up as modelUsage } from "./0003-model-usage.ts";
import { up as webhookFairness } from "./0004-webhook-fairness.ts";

export interface Migration {
  name: string;
  // The transaction knows no tables by type: a migration is written against the schema of its day.
  up(tx: Kysely<unknown>, engine: Engine): Promise<void>;
}

// In order: the place in this list is the number. What has been released is never changed, only followed by another.
export const MIGRATIONS: readonly Migration[] = [
  { name: "initial", up: initial },
  { name: "partner-api", up: partnerApi },
  { name: "model-usage", up: modelUsage },
  { name: "webhook-fairness", up: webhookFairness },
];
