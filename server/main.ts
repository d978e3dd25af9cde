import { systemClock, type Clock } from "./clock.ts";
import type { Config } from "./config/config.ts";
import { watchCanary } from "./doctor/watch-canary.ts";
import type { Driver } from "./drivers/driver.ts";
import { createLoopWatch } from "./event-loop/loop-watch.ts";
import type { Log } from "./log.ts";
import { openApi } from "./main/api.ts";
import { openDoors } from "./main/doors.ts";
import { openFoundation } from "./main/foundation.ts";
import { openSessionWork } from "./main/session-work.ts";
import { openWayOut } from "./main/way-out.ts";

export interface Server {
  url: string;
  driver: Pick<Driver, "name" | "traits">;
  // The API key of the partner `demo`, at the first start only.
  demo: { partnerId: string; key: string; file: string } | null;
  // Whether the page at `url` opens workspaces for the person at this machine.
  opensWorkspaces: boolean;
  // Waits for requests in flight. Sandboxes keep running.
  close(): Promise<void>;
  // The work that a close waits for, in words for the operator.
  unfinished(): string[];
}

export interface ServerOptions {
  log: Log;
  // How many lines of the log were dropped so far.
  droppedLogLines: () => number;
  clock?: Clock;
  // Start even if the store does not know the sandboxes in use.
  quarantineUnknown?: boolean;
}

// Builds the whole service and starts it. The files in main/ build its parts by hand, in this order. Every part with a resource goes on
// the stack, which closes them in reverse order.
export async function startServer(
  config: Config,
  { log, droppedLogLines, clock = systemClock, quarantineUnknown = false }: ServerOptions,
): Promise<Server> {
  await using opening = new AsyncDisposableStack();

  const foundation = await openFoundation(config, { log, clock, quarantineUnknown }, opening);
  const wayOut = await openWayOut(foundation, opening);
  const work = await openSessionWork(foundation, wayOut, droppedLogLines, opening);
  const doors = openDoors(foundation, work, opening);
  const app = await openApi(foundation, work, doors, opening);
  // Closed before the app, which waits for requests in flight: WebSockets and event streams do not end by themselves.
  opening.use(doors.gateway);

  const { driver, registry, port, baseUrl, demo, localPartner } = foundation;
  // Callers may wait for answers from here on.
  opening.use(createLoopWatch({ log, registry }));
  await work.services.start();
  await app.listen({ host: config.host, port });
  opening.use(watchCanary(config, driver.name, log));
  const closing = opening.move();
  const close = async () => {
    // First, so that load balancers stop sending requests, and while everything still works: clients send requests on open
    // connections until a response ends them.
    app.drain();
    await app.quieten();
    await closing.disposeAsync();
  };
  return { url: baseUrl, driver, demo, opensWorkspaces: localPartner !== null, close, unfinished: work.services.unfinished };
}
