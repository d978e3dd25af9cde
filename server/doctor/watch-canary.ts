import type { Config } from "../config/config.ts";
import type { Log } from "../log.ts";
import { findSandboxFault } from "./canary.ts";

// Runs a canary at the start of a server, in the background: sessions can be created in the meantime, and say themselves if they
// fail.
export function watchCanary(config: Config, driver: string, log: Log): AsyncDisposable {
  const stop = new AbortController();
  const checked = findSandboxFault(config, driver, stop.signal).then(
    (fault) => fault && !stop.signal.aborted && log.error("sandbox.canary_failed", { error: fault.text, cure: fault.cure }),
    (error: unknown) => log.warn("sandbox.canary_skipped", { error: String(error) }),
  );
  return {
    async [Symbol.asyncDispose]() {
      stop.abort();
      await checked;
    },
  };
}
