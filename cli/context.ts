import type { Clock } from "@berth/server/clock.ts";
import type { Config } from "@berth/server/config/config.ts";
import type { Db } from "@berth/server/store/schema.ts";
import type { Store } from "@berth/server/store/open.ts";

// The store and settings that a command uses. The server may run at the same time.
export interface Context {
  config: Config;
  store: Store;
  clock: Clock;
  // Runs a change and writes its audit entry in one transaction.
  change: <T>(work: (tx: Db, note: Note) => Promise<T>) => Promise<T>;
}

export type Note = (action: string, partnerId: string, target: string) => Promise<void>;

export async function withStore<T>(work: (context: Context) => Promise<T>): Promise<T> {
  const [{ readSettings }, { openExistingStore }, { systemClock }, { appendAudit }] = await Promise.all([
    import("./installation/settings.ts"),
    import("./installation/existing-store.ts"),
    import("@berth/server/clock.ts"),
    import("@berth/server/store/partners/audit.ts"),
  ]);
  const config = await readSettings();
  await using store = await openExistingStore(config);
  const clock = systemClock;
  return await work({
    config,
    store,
    clock,
    change: (act) =>
      store.transaction((tx) =>
        act(tx, (action, partnerId, target) =>
          appendAudit(tx, { partnerId, actor: "cli", action, target, ip: null, requestId: null }, clock.now()),
        ),
      ),
  });
}
