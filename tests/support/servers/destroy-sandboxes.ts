import { endLeftBuilds } from "../../../server/builds/open-builds.ts";
import { readConfig } from "../../../server/config/config.ts";
import { endLeftCanaries } from "../../../server/doctor/canary.ts";
import { openDriver } from "../../../server/drivers/index.ts";
import { silentLog } from "../../../server/log.ts";

// Destroys the sandboxes of a server that has ended. They outlive it on purpose.
export async function destroySandboxes(env: NodeJS.ProcessEnv): Promise<void> {
  const { config } = readConfig(env);
  await endLeftCanaries(config);
  await endLeftBuilds(config);
  await using driver = await openDriver(config, silentLog);
  for (const { id } of await driver.list(AbortSignal.timeout(30_000))) await driver.destroy(id, AbortSignal.timeout(30_000));
}

if (import.meta.main) await destroySandboxes(process.env);
