import type { V1Pod } from "@kubernetes/client-node";
import type { DialDeps } from "./dial-pod.ts";

// Whose address it is: the sandbox's pod's or its node's. The known pods may be behind the truth, so an address that is
// none of theirs is looked for once more at the API server: a resumed sandbox has another one.
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

// The address of a pod that has ended may be another one's by now.
function ownerIn({ status }: V1Pod, address: string): "sandbox" | "node" | null {
  if (status?.phase !== "Running") return null;
  if (status.podIP === address || status.podIPs?.some(({ ip }) => ip === address)) return "sandbox";
  return status.hostIP === address || status.hostIPs?.some(({ ip }) => ip === address) ? "node" : null;
}
