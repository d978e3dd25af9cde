import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { AttackTarget } from "./attacks.ts";
import type { AttackerOrder, AttackerReport } from "./attacker-process.ts";

// Simulates the hostile partner's machines: a process that attacks and runs the partner's servers. It is a separate
// process, so that the attacker's own work does not delay the victim's measurements.
export interface Attacker extends AsyncDisposable {
  // A model provider, a server that answers every request at once, and one that accepts every request and never answers.
  modelUrl: string;
  upstreamUrl: string;
  silentUrl: string;
  pid: number;
  // Starts these attacks. Disposing the result ends them and removes their resources.
  attack(names: readonly string[], target: AttackTarget): Promise<AsyncDisposable>;
}

export async function startAttacker(): Promise<Attacker> {
  const child = fork(join(import.meta.dirname, "attacker-process.ts"));
  const report = async () => ((await once(child, "message")) as [AttackerReport])[0];
  const order = (message: AttackerOrder) => void child.send(message);
  const urls = await report();
  if (urls.type !== "ready") throw new Error(`the attacker began with ${urls.type}`);
  return {
    ...urls,
    pid: child.pid!,
    async attack(names, target) {
      const started = report();
      order({ type: "attack", names: [...names], target });
      await started;
      return {
        async [Symbol.asyncDispose]() {
          const stopped = report();
          order({ type: "stop" });
          await stopped;
        },
      };
    },
    async [Symbol.asyncDispose]() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exited = once(child, "exit");
      child.disconnect();
      await exited;
    },
  };
}
