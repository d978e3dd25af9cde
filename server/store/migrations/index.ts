import type { Kysely } from "kysely";
import type { Engine } from "../engines/engine.ts";
import { up as initial } from "./0001-initial.ts";
import { up as partnerApi } from "./0002-partner-api.ts";
import { up as modelUsage } from "./0003-model-usage.ts";
import { up as webhookFairness } from "./0004-webhook-fairness.ts";
import { up as keyScopes } from "./0005-key-scopes.ts";
import { up as branding } from "./0006-branding.ts";
import { up as userSettings } from "./0007-user-settings.ts";
import { up as servers } from "./0008-servers.ts";
import { up as usage } from "./0009-usage.ts";
import { up as idleTimeout } from "./0010-idle-timeout.ts";
import { up as sessionRules } from "./0011-session-rules.ts";
import { up as console } from "./0012-console.ts";
import { up as setup } from "./0013-setup.ts";
import { up as snapshots } from "./0014-snapshots.ts";
import { up as volumes } from "./0015-volumes.ts";
import { up as sessionLogs } from "./0016-session-logs.ts";
import { up as identities } from "./0017-identities.ts";
import { up as snapshotImage } from "./0018-snapshot-image.ts";
import { up as keyLifetime } from "./0019-key-lifetime.ts";
import { up as facts } from "./0020-facts.ts";
import { up as quarantine } from "./0021-quarantine.ts";
import { up as modelReservations } from "./0022-model-reservations.ts";
import { up as openingNames } from "./0023-opening-names.ts";
import { up as runs } from "./0024-runs.ts";
import { up as sessionTokens } from "./0025-session-tokens.ts";
import { up as liveLimits } from "./0026-live-limits.ts";

export interface Migration {
  name: string;
  // Untyped tables: a migration is written against the schema of its time.
  up(tx: Kysely<unknown>, engine: Engine): Promise<void>;
}

// In order: the position in this list is the migration's number. A released migration is never changed.
export const MIGRATIONS: readonly Migration[] = [
  { name: "initial", up: initial },
  { name: "partner-api", up: partnerApi },
  { name: "model-usage", up: modelUsage },
  { name: "webhook-fairness", up: webhookFairness },
  { name: "key-scopes", up: keyScopes },
  { name: "branding", up: branding },
  { name: "user-settings", up: userSettings },
  { name: "servers", up: servers },
  { name: "usage", up: usage },
  { name: "idle-timeout", up: idleTimeout },
  { name: "session-rules", up: sessionRules },
  { name: "console", up: console },
  { name: "setup", up: setup },
  { name: "snapshots", up: snapshots },
  { name: "volumes", up: volumes },
  { name: "session-logs", up: sessionLogs },
  { name: "identities", up: identities },
  { name: "snapshot-image", up: snapshotImage },
  { name: "key-lifetime", up: keyLifetime },
  { name: "facts", up: facts },
  { name: "quarantine", up: quarantine },
  { name: "model-reservations", up: modelReservations },
  { name: "opening-names", up: openingNames },
  { name: "runs", up: runs },
  { name: "session-tokens", up: sessionTokens },
  { name: "live-limits", up: liveLimits },
];
