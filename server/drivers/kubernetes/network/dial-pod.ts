import type { Socket } from "node:net";
import { AppError } from "@berth/contract";
import { dialPodAddress } from "../pods/dial-pod-address.ts";
import { mayAnswer } from "../pods/pod-state.ts";
import type { Pods } from "../pods/pod-watch.ts";
import type { Workloads } from "../workloads/workloads.ts";

export interface DialDeps {
  pods: Pods;
  workloads: Pick<Workloads, "podOf">;
}

// Connects to the daemon in the sandbox's pod. The watched pods may be out of date, because the sandbox has a new address after
// a node was lost. If the pod is unknown or does not answer, its address is read from the API server.
export async function dialPod({ pods, workloads }: DialDeps, name: string, signal: AbortSignal): Promise<Socket> {
  const known = pods.of(name).find(mayAnswer);
  try {
    if (known) return await dialPodAddress(known, signal);
  } catch (error) {
    if (signal.aborted) throw error;
  }
  const fresh = await pods.read(await workloads.podOf(name, signal), signal);
  if (!fresh || !mayAnswer(fresh) || fresh.status?.podIP === known?.status?.podIP) throw new AppError("sandbox_unreachable");
  return await dialPodAddress(fresh, signal);
}
