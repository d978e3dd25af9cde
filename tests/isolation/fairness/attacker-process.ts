import { startModelServer } from "../../support/agents/model-server.ts";
import { ATTACKS, type AttackTarget } from "./attacks.ts";
import { listen, urlOf } from "./servers.ts";

export type AttackerOrder = { type: "attack"; names: string[]; target: AttackTarget } | { type: "stop" };
export type AttackerReport =
  | { type: "ready"; modelUrl: string; upstreamUrl: string; silentUrl: string }
  | { type: "started" }
  | { type: "stopped" };

const model = await startModelServer();
const upstream = await listen((_request, response) => response.end("here\n"));
const silent = await listen(() => undefined);
let stop = new AbortController();
let attacking: Promise<unknown> = Promise.resolve();

process.on("message", (order: AttackerOrder) => void (order.type === "attack" ? begin(order) : end()));
process.on("disconnect", () => process.exit());
// The parent reports the failure, removes the sandboxes and then ends this process.
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => undefined);
report({ type: "ready", modelUrl: model.url, upstreamUrl: urlOf(upstream), silentUrl: urlOf(silent) });

function report(message: AttackerReport): void {
  process.send?.(message);
}

async function begin({ names, target }: AttackerOrder & { type: "attack" }): Promise<void> {
  stop = new AbortController();
  const attacks = ATTACKS.filter(({ name }) => names.includes(name));
  for (const attack of attacks) await attack.prepare?.(target);
  attacking = Promise.allSettled(attacks.map((attack) => attack.start(target, stop.signal)));
  report({ type: "started" });
}

async function end(): Promise<void> {
  stop.abort();
  await attacking;
  // The model server stores the requests that it receives.
  model.requests.length = 0;
  report({ type: "stopped" });
}
