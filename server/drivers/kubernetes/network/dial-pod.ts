import { connect, type Socket } from "node:net";
import type { V1Pod } from "@kubernetes/client-node";
import { AppError } from "@berth/contract";
import { DAEMON_PORT } from "../cluster/names.ts";
import { mayAnswer } from "../pods/pod-state.ts";
import type { Pods } from "../pods/pod-watch.ts";
import type { Workloads } from "../workloads/workloads.ts";

export interface DialDeps {
  pods: Pods;
  workloads: Pick<Workloads, "podOf">;
}

// A connection to the daemon in the sandbox's pod. The known pods may be behind the truth, so a pod that is not known, or
// does not answer, is looked up once more at the API server: after a node was lost the sandbox has another address.
export async function dialPod({ pods, workloads }: DialDeps, name: string, signal: AbortSignal): Promise<Socket> {
  const known = pods.of(name).find(mayAnswer);
  try {
    if (known) return await dialAddress(known, signal);
  } catch (error) {
    if (signal.aborted) throw error;
  }
  const fresh = await pods.read(await workloads.podOf(name, signal), signal);
  if (!fresh || !mayAnswer(fresh) || fresh.status?.podIP === known?.status?.podIP) throw new AppError("sandbox_unreachable");
  return await dialAddress(fresh, signal);
}

export function dialAddress(pod: V1Pod, signal: AbortSignal): Promise<Socket> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason as Error);
    const socket = connect({ host: pod.status?.podIP ?? "", port: DAEMON_PORT, noDelay: true });
    const settle = (act: () => void) => {
      signal.removeEventListener("abort", onAbort);
      socket.removeListener("error", onError);
      act();
    };
    const fail = (error: Error) =>
      settle(() => {
        socket.destroy();
        reject(error);
      });
    const onAbort = () => fail(signal.reason as Error);
    const onError = (cause: Error) => fail(new AppError("sandbox_unreachable", { cause }));
    signal.addEventListener("abort", onAbort, { once: true });
    socket.once("error", onError);
    socket.once("connect", () => settle(() => resolve(socket)));
  });
}
