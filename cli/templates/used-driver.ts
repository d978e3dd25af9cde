import type { Config } from "@berth/server/config/config.ts";
import { probeDrivers } from "@berth/server/drivers/index.ts";

// The driver that a server with these settings uses on this machine.
export const usedDriver = async (config: Config): Promise<string> =>
  (config.driver === "auto" ? (await probeDrivers(config)).find(({ usable }) => usable)?.driver : undefined) ?? config.driver;
