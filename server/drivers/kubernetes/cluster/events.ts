import type { CoreV1Event } from "@kubernetes/client-node";
import type { Cluster } from "./cluster.ts";
import { eventsPath } from "./names.ts";

export interface EventDeps {
  cluster: Cluster;
  namespace: string;
}

// The events of one object. Empty if our account may not list events.
export async function eventsOf({ cluster, namespace }: EventDeps, uid: string, signal: AbortSignal): Promise<CoreV1Event[]> {
  return (await cluster.listIfAllowed<CoreV1Event>(eventsPath(namespace), { fieldSelector: `involvedObject.uid=${uid}` }, signal)) ?? [];
}
