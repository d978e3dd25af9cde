import { join } from "node:path";
import { systemClock } from "@berth/server/clock.ts";
import type { Config } from "@berth/server/config/config.ts";
import { silentLog } from "@berth/server/log.ts";
import type { Secrets } from "@berth/server/secrets/secrets.ts";
import { createEndSandboxes, type EndedSandboxes } from "@berth/server/sessions/background/end-sandboxes.ts";
import { openStore, type Store } from "@berth/server/store/open.ts";
import type { Templates } from "@berth/server/templates.ts";
import { openDaemonLinks, openSecrets } from "../installation/daemon-access.ts";
import { STORE_FILE } from "../installation/settings.ts";
import { readTemplates } from "../installation/templates.ts";
import type { Engine, Installation } from "./installation.ts";

export type Fate = "paused" | "destroyed";

// Ends the sandboxes of every engine, even of a broken installation: without the master key or the templates, daemons are stopped
// without notice.
export async function endInstallation(config: Config, { store: existing, engines }: Installation, fate: Fate): Promise<EndedSandboxes> {
  const all: EndedSandboxes = { paused: 0, destroyed: 0, discarded: 0, orphans: 0, failures: [] };
  if (!existing) {
    for (const engine of engines) add(all, await endUnknown(engine, fate));
    return all;
  }
  await using store = await openStore({ url: config.databaseUrl, file: join(config.dataDir, STORE_FILE), log: silentLog });
  const secrets = await openSecrets(config);
  // Servers share a store only with PostgreSQL.
  const sharesStore = config.databaseUrl !== null;
  for (const engine of engines) add(all, await endKnown(store, engine, fate, { secrets, templates: readTemplates(config), sharesStore }));
  return all;
}

async function endKnown(
  store: Store,
  { driver, site }: Engine,
  fate: Fate,
  { sharesStore, ...shared }: { secrets: Secrets; templates: Templates; sharesStore: boolean },
): Promise<EndedSandboxes> {
  await using links = openDaemonLinks({ store, driver, secrets: shared.secrets });
  const sandboxes = createEndSandboxes({
    ...shared,
    store,
    driver,
    links,
    site,
    hasReplicas: sharesStore && site.host === null,
    clock: systemClock,
    log: silentLog,
  });
  return fate === "destroyed" ? await sandboxes.destroyAll() : await sandboxes.pauseAll();
}

// Without a store the owner of the files is unknown, so only `--delete` removes them.
async function endUnknown({ driver }: Engine, fate: Fate): Promise<EndedSandboxes> {
  const ended: EndedSandboxes = { paused: 0, destroyed: 0, discarded: 0, orphans: 0, failures: [] };
  for (const { id, condition } of await driver.list(AbortSignal.timeout(30_000))) {
    const signal = AbortSignal.timeout(60_000);
    try {
      await (fate === "destroyed" ? driver.destroy(id, signal) : driver.hibernate(id, signal));
      if (fate === "destroyed" || condition !== "stopped") ended.orphans++;
    } catch (error) {
      ended.failures.push(`${id}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  return ended;
}

function add(sum: EndedSandboxes, { failures, ...counts }: EndedSandboxes): void {
  sum.failures.push(...failures);
  for (const name of Object.keys(counts) as (keyof typeof counts)[]) sum[name] += counts[name];
}
