import { openBuilds } from "../builds/open-builds.ts";
import { SECOND } from "../clock.ts";
import { registerDiskMetrics } from "../metrics/disk-metrics.ts";
import { registerProcessMetrics } from "../metrics/process-metrics.ts";
import { registerQuotaMetrics } from "../metrics/quota-metrics.ts";
import { registerPoolMetrics, registerSessionMetrics } from "../metrics/session-metrics.ts";
import { createEgressLog } from "../session-logs/egress-log.ts";
import { createSessionServices } from "../sessions/session-services.ts";
import { createVolumes } from "../sessions/volumes/volumes.ts";
import { countByState, readQuotaUse } from "../store/sessions/listing/count.ts";
import { openTracing } from "../tracing/open-tracing.ts";
import { createSandboxMeter } from "../usage/sandbox-meter.ts";
import { createUsageSampler } from "../usage/usage-sampler.ts";
import type { Foundation } from "./foundation.ts";
import type { WayOut } from "./way-out.ts";

const STEP_TIMEOUT_MS = { local: 45 * SECOND, cluster: 120 * SECOND };
const MEMORY_RESERVE_BYTES = 512 * 1024 * 1024;
// A cluster has no such default, because a warm pod reserves all that its template may use.
const POOL_MAX = 100;

// Everything that happens to sessions, with what measures it.
export type SessionWork = Awaited<ReturnType<typeof openSessionWork>>;

export async function openSessionWork(
  { config, log, clock, registry, site, templates, store, secrets, driver, disk, records, servers, links }: Foundation,
  { egress, ownPorts, modelEnv, relayAccess }: WayOut,
  droppedLogLines: () => number,
  opening: AsyncDisposableStack,
) {
  const { hostBound } = driver.traits;
  const { tracer } = opening.use(openTracing({ config, driver: driver.name, registry, log }));
  registerProcessMetrics(registry, { driver: driver.name, egress, droppedLogLines });
  const observer = registerSessionMetrics(registry, { driver: driver.name, countSessions: () => countByState(store.db) });
  if (disk) registerDiskMetrics(registry, disk);
  registerQuotaMetrics(registry, () => readQuotaUse(store.db));

  opening.use(createEgressLog({ store, egress, clock, log }));
  const sandboxMeter = createSandboxMeter({ driver, links, templates });
  const meter = opening.use(createUsageSampler({ store, meter: sandboxMeter, site, egress, clock, log }));
  const builds = opening.use(await openBuilds({ config, driver, ownPorts, clock, log }));
  const services = opening.use(
    createSessionServices({
      store,
      driver,
      links,
      builds,
      egress,
      meter,
      templates,
      modelEnv,
      relayAccess,
      secrets,
      clock,
      log,
      host: site.host,
      servers,
      disk,
      rules: config,
      records,
      capacity: { maxSandboxes: config.maxSandboxes ?? Infinity, reserveBytes: MEMORY_RESERVE_BYTES },
      snapshotLimits: {
        maxSnapshots: config.maxSnapshots,
        maxSnapshotBytes: config.maxSnapshotMib * 2 ** 20,
        snapshotRetentionMs: config.snapshotRetentionMs,
      },
      poolSize: config.poolSize,
      poolMax: config.poolMax ?? (hostBound ? POOL_MAX : config.poolSize),
      observer,
      stepTimeoutMs: hostBound ? STEP_TIMEOUT_MS.local : STEP_TIMEOUT_MS.cluster,
    }),
  );
  registerPoolMetrics(registry, services.pool);
  const volumes = createVolumes({
    store,
    driver,
    site,
    clock,
    limits: { volumes: config.maxVolumes, volumesMb: config.maxVolumesGb * 1024 },
  });
  return { services, volumes, sandboxMeter, tracer };
}
