import type { V1Pod } from "@kubernetes/client-node";
import type { DialDeps } from "./dial-pod.ts";

// Tells whether an address belongs to the sandbox's pod or to its node. The watched pods may be out of date, because a resumed
// sandbox has a new address, so an unknown address is checked with the API server.
export async function findAddressOwner(
  { pods, workloads }: DialDeps,
  name: string,
  address: string,
  signal: AbortSignal,
): Promise<"sandbox" | "node" | null> {
  const known = pods.of(name).map((pod) => ownerIn(pod, address));
  const owner = known.find((one) => one !== null);
  if (owner) return owner;
  const fresh = await pods.read(await workloads.podOf(name, signal), signal);
  return fresh && ownerIn(fresh, address);
}

// The address of a pod that has ended may already belong to another pod.
function ownerIn({ status }: V1Pod, address: string): "sandbox" | "node" | null {
  if (status?.phase !== "Running") return null;
  if (status.podIP === address || status.podIPs?.some(({ ip }) => ip === address)) return "sandbox";
  return status.hostIP === address || status.hostIPs?.some(({ ip }) => ip === address) ? "node" : null;
}
