import { createUpstreamDial } from "../egress/dial-upstream.ts";
import { openEgress } from "../egress/open-egress.ts";
import { registerRelayMetrics } from "../metrics/relay-metrics.ts";
import { createModelRelay } from "../relays/model/model-relay.ts";
import { joinRelays } from "../relays/relays.ts";
import { createSessionRelays } from "../relays/session/session-relay.ts";
import { createRelayDirectory } from "../sessions/relays/relay-directory.ts";
import { currentEgress } from "../store/sessions/live-limits.ts";
import { runningAmong } from "../store/sessions/read.ts";
import type { Foundation } from "./foundation.ts";

// How sandboxes reach the outside: the egress proxies, and behind them the relays that add credentials.
export type WayOut = Awaited<ReturnType<typeof openWayOut>>;

export async function openWayOut(
  { config, log, clock, registry, templates, store, secrets, driver, port }: Foundation,
  opening: AsyncDisposableStack,
) {
  const ownPorts = [port, ...(config.egressListen === null ? [] : [Number(config.egressListen.split(":").at(-1))])];
  const model = createModelRelay({ config, templates, secrets, store, clock, log, env: process.env });
  const sessionRelays = createSessionRelays({
    onRelayed: registerRelayMetrics(registry),
    find: createRelayDirectory({ store, secrets, templates, env: process.env }),
    dial: createUpstreamDial({ allow: config.egressAllow, ownPorts }),
    secrets,
    log,
  });
  const egress = opening.use(
    await openEgress({
      config,
      driver,
      ownPorts,
      running: (sandboxIds) => runningAmong(store.db, sandboxIds),
      currentEgress: (sandboxIds) => currentEgress(store.db, sandboxIds),
      clock,
      secrets,
      templates,
      log,
      onRelay: joinRelays([model, sessionRelays]),
    }),
  );
  return { egress, ownPorts, modelEnv: model.env, relayAccess: sessionRelays.access };
}
