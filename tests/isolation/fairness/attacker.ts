import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { AttackTarget } from "./attacks.ts";
import type { AttackerOrder, AttackerReport } from "./attacker-process.ts";

// The hostile partner's own machines: a process that carries out attacks, and the servers that belong to it. A process of
// its own, so that what the attack costs the attacker does not show in the victim's times.
export interface Attacker extends AsyncDisposable {
  // A model provider, a server that answers every request at once, and one that accepts every request and never answers.
  modelUrl: string;
  upstreamUrl: string;
  silentUrl: string;
  // Starts these attacks. Disposing the result ends them and cleans up what they made.
  attack(names: readonly string[], target: AttackTarget): Promise<AsyncDisposable>;
}

export interface AttackerOptions {
  // The process's niceness. The attacker stands for machines elsewhere, so that a measurement lets it have only the
  // processor time that nothing else on this machine wants.
  niceness?: number;
}

export async function startAttacker({ niceness = 0 }: AttackerOptions): Promise<Attacker> {
  const child = fork(join(import.meta.dirname, "attacker-process.ts"), [String(niceness)]);
  const report = async () => ((await once(child, "message")) as [AttackerReport])[0];
  const order = (message: AttackerOrder) => void child.send(message);
  const urls = await report();
  if (urls.type !== "ready") throw new Error(`the attacker began with ${urls.type}`);
  return {
    ...urls,
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
