import { readFile } from "node:fs/promises";
import type { Config } from "@berth/server/config/config.ts";
import { openDriver } from "@berth/server/drivers/index.ts";
import { hostNameFile } from "@berth/server/data-folder/claim-host.ts";
import { silentLog } from "@berth/server/log.ts";
import { compare, type Difference } from "@berth/server/sessions/background/differences.ts";
import type { Store } from "@berth/server/store/open.ts";
import type { Finding } from "./finding.ts";

const MEANINGS: Record<Difference["kind"], string> = {
  orphan: "belongs to no session",
  lost: "should run and has stopped",
  returned: "was considered lost and runs again",
  stopped: "should be frozen and has stopped",
  awake: "should be paused and runs",
  frozen: "should run and is frozen",
};

// Compares the sandboxes of the engine with the store. A running server repairs differences within seconds.
export async function compareSandboxes(config: Config, store: Store): Promise<Finding[]> {
  const topic = "sandboxes";
  try {
    await using driver = await openDriver(config, silentLog);
    const host = driver.traits.hostBound ? (await readFile(hostNameFile(config.dataDir), "utf8")).trim() : null;
    const home = { driver: driver.name, host };
    const malformed: Finding[] = [];
    const onMalformed = ({ problem }: { problem: string }) => void malformed.push({ topic, state: "note", text: problem });
    const differences = await compare({ store, driver, home, onMalformed });
    const { length: total } = await driver.list(AbortSignal.timeout(20_000));
    if (differences.length + malformed.length === 0) return [{ topic, state: "good", text: `${total}, as in the store` }];
    return [
      ...malformed,
      ...differences.map(({ sandboxId, kind }) => ({ topic, state: "note", text: `${sandboxId} ${MEANINGS[kind]}` }) as const),
    ];
  } catch (error) {
    return [{ topic, state: "note", text: `could not be compared: ${error instanceof Error ? error.message : String(error)}` }];
  }
}
