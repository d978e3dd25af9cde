import { join } from "node:path";
import { systemClock } from "../../server/clock.ts";
import { issueKey, revokeKey, type IssuedKey } from "../../server/keys/keys.ts";
import { silentLog } from "../../server/log.ts";
import { openStore } from "../../server/store/open.ts";
import { createApi } from "../support/servers/api.ts";
import type { Berth } from "../support/servers/berth.ts";

// Keys that an operator issues and revokes while the server runs and dies, like `berth key`: in the same database, from another
// process.
export interface KeyRing {
  // Issues a key, and sometimes revokes an older one.
  turn(berth: Berth): Promise<void>;
  check(berth: Berth): Promise<string[]>;
}

const KEPT = 3;

export function createKeyRing(): KeyRing {
  const valid: IssuedKey[] = [];
  const revoked: IssuedKey[] = [];

  return {
    async turn({ dataDir, env }) {
      const url = env["BERTH_DATABASE_URL"] ?? null;
      await using store = await openStore({ file: join(dataDir, "berth.db"), url, log: silentLog, migrate: false });
      valid.push(await store.transaction((tx) => issueKey(tx, systemClock, "demo")));
      if (valid.length <= KEPT) return;
      const old = valid[0]!;
      await store.transaction((tx) => revokeKey(tx, systemClock, old.id));
      revoked.push(valid.shift()!);
    },
    async check({ url }) {
      const statusOf = async ({ key }: IssuedKey) => (await createApi(url, key).call("GET", "/api/b2b/sessions?limit=1")).status;
      const faults: string[] = [];
      for (const key of valid) if ((await statusOf(key)) !== 200) faults.push(`the key ${key.id} is lost`);
      for (const key of revoked.slice(-KEPT)) if ((await statusOf(key)) !== 401) faults.push(`the key ${key.id} works again`);
      return faults;
    },
  };
}
