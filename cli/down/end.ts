import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { AppError } from "@berth/contract";
import { systemClock } from "@berth/server/clock.ts";
import type { Config } from "@berth/server/config/config.ts";
import { createDaemonLinks } from "@berth/server/daemon-link/daemon-links.ts";
import { silentLog } from "@berth/server/log.ts";
import { loadMasterKeys, MASTER_KEY_FILE } from "@berth/server/secrets/master-key.ts";
import { createSecrets, type Secrets } from "@berth/server/secrets/secrets.ts";
import { createEndSandboxes, type EndedSandboxes } from "@berth/server/sessions/background/end-sandboxes.ts";
import { openStore, type Store } from "@berth/server/store/open.ts";
import { readSandboxAccess } from "@berth/server/store/sessions/read.ts";
import { loadTemplates, type Templates } from "@berth/server/templates.ts";
import { STORE_FILE } from "./data-folder.ts";
import type { Engine, Installation } from "./installation.ts";

export type Fate = "paused" | "destroyed";

// Ends the sandboxes of every engine. Nothing that may be broken about an installation keeps it from being ended: without
// the master key or the templates, daemons are merely stopped without being told first.
export async function endInstallation(config: Config, { store: seen, engines }: Installation, fate: Fate): Promise<EndedSandboxes> {
  const all: EndedSandboxes = { paused: 0, destroyed: 0, discarded: 0, orphans: 0, failures: [] };
  if (!seen) {
    for (const engine of engines) add(all, await endUnknown(engine, fate));
    return all;
  }
  await using store = await openStore({ url: config.databaseUrl, file: join(config.dataDir, STORE_FILE), log: silentLog });
  const secrets = await openSecrets(config);
  // Servers share a store and an engine only on PostgreSQL and a cluster.
  const sharesStore = config.databaseUrl !== null;
  for (const engine of engines) add(all, await endKnown(store, engine, fate, { secrets, templates: readTemplates(config), sharesStore }));
  return all;
}

async function endKnown(
  store: Store,
  { driver, home }: Engine,
  fate: Fate,
  { sharesStore, ...made }: { secrets: Secrets; templates: Templates; sharesStore: boolean },
): Promise<EndedSandboxes> {
  await using links = createDaemonLinks({
    driver,
    log: silentLog,
    tokenOf: async (sandboxId) => {
      const access = await readSandboxAccess(store, sandboxId);
      if (!access) throw new AppError("sandbox_unreachable");
      return made.secrets.open(access.sealedToken, sandboxId);
    },
  });
  const sandboxes = createEndSandboxes({
    ...made,
    store,
    driver,
    links,
    home,
    hasReplicas: sharesStore && home.host === null,
    clock: systemClock,
    log: silentLog,
  });
  return fate === "destroyed" ? await sandboxes.destroyAll() : await sandboxes.pauseAll();
}

// Without a store nobody knows whose files these are, so only the word `--delete` removes them.
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

// Never makes a key, as the server does.
async function openSecrets(config: Config): Promise<Secrets> {
  const there = config.masterKeys !== null || existsSync(join(config.dataDir, MASTER_KEY_FILE));
  const keys = there ? await loadMasterKeys(config).catch(() => null) : null;
  return createSecrets(keys ?? [randomBytes(32)]);
}

function readTemplates({ templatesFile }: Config): Templates {
  try {
    return loadTemplates(templatesFile ?? undefined);
  } catch {
    return loadTemplates(undefined);
  }
}
