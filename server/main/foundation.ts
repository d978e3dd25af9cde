import { join } from "node:path";
import { Registry } from "prom-client";
import type { Clock } from "../clock.ts";
import { baseUrlOf, isForThisMachine, type Config } from "../config/config.ts";
import { createDaemonLinks } from "../daemon-link/daemon-links.ts";
import { withNews } from "../daemon-link/link-news.ts";
import { claimHost } from "../data-folder/claim-host.ts";
import { openDiskWatch } from "../data-folder/disk-watch.ts";
import { openDriver } from "../drivers/index.ts";
import { acceptTemplates } from "../drivers/template-support.ts";
import { checkMasterKey } from "../keys/check-master-key.ts";
import { DEMO_PARTNER, seedDemo } from "../keys/seed.ts";
import type { Log } from "../log.ts";
import { freePort } from "../network/free-port.ts";
import { describeLowLimit, readOpenFileLimit } from "../open-files.ts";
import { loadMasterKeys } from "../secrets/master-key.ts";
import { createSecrets } from "../secrets/secrets.ts";
import { matchStore } from "../sessions/quarantine/match-store.ts";
import { createSessionRecords, NO_RECORDS } from "../sessions/quarantine/session-records.ts";
import { createTokenOf } from "../sessions/sandbox-token.ts";
import { openServerDirectory } from "../sessions/server-directory.ts";
import { openStore } from "../store/open.ts";
import { hasPartners } from "../store/partners/partners.ts";
import { loadTemplates } from "../templates.ts";

// The parts that all others stand on: store, driver, and the links to daemons. A start that must not happen is refused here.
export type Foundation = Awaited<ReturnType<typeof openFoundation>>;

export interface FoundationOptions {
  log: Log;
  clock: Clock;
  // Start even if the store does not know the sandboxes in use.
  quarantineUnknown: boolean;
}

export async function openFoundation(config: Config, { log, clock, quarantineUnknown }: FoundationOptions, opening: AsyncDisposableStack) {
  const { dataDir, quarantineMs } = config;
  const host = opening.use(await claimHost(dataDir));
  const storeFile = join(dataDir, "berth.db");
  const openFiles = readOpenFileLimit();
  const lowLimit = describeLowLimit(openFiles);
  if (lowLimit !== undefined) log.warn("server.few_open_files", { message: lowLimit });
  const templates = loadTemplates(config.templatesFile ?? undefined);
  const store = opening.use(await openStore({ url: config.databaseUrl, file: storeFile, log }));
  const secrets = createSecrets(await loadMasterKeys(config, { isNewStore: !(await hasPartners(store.db)) }));
  await checkMasterKey(store.db, secrets, config);
  const driver = opening.use(await openDriver(config, log, { templates, secrets }));
  acceptTemplates(driver.name, templates, log);
  const files = { dataDir, storeFile: config.databaseUrl === null ? storeFile : null };
  const watched = { ...files, reserveMib: config.diskReserveMib, unwrittenBytes: driver.unwrittenBytes, clock, log };
  const disk = driver.traits.hostBound ? opening.use(await openDiskWatch(watched)) : undefined;
  const site = { driver: driver.name, host: driver.traits.hostBound ? host.name : null };
  const records = driver.traits.hostBound ? createSessionRecords(dataDir, log) : NO_RECORDS;
  await matchStore({ store, driver, records, site, quarantineMs, dataDir, log }, { quarantineUnknown });
  // This comes after the checks above, because a refused start must not replace the key of the right store.
  const demo = await seedDemo({ store, clock, config });
  // Needed before the server listens, because launch URLs contain it.
  const port = config.port === 0 ? await freePort(config.host) : config.port;
  const baseUrl = baseUrlOf(config, port);
  const servers = opening.use(await openServerDirectory({ store, host: site.host, baseUrl, clock, log }));
  const tokenOf = createTokenOf({ store, secrets, site, servers });
  const links = opening.use(withNews(createDaemonLinks({ driver, tokenOf, log })));
  return {
    config,
    log,
    clock,
    registry: new Registry(),
    hostName: host.name,
    site,
    templates,
    store,
    secrets,
    driver,
    disk,
    records,
    demo,
    port,
    baseUrl,
    servers,
    links,
    openFiles,
    // The partner whose sessions the person at this machine may open without a key.
    localPartner: isForThisMachine(config, baseUrl) ? DEMO_PARTNER : null,
  };
}
