import type { KubeConfig } from "@kubernetes/client-node";
import { readFileIfReadable } from "../../../bounded-io/read-small-file.ts";
import { createCluster, type Cluster } from "./cluster.ts";

export interface ConnectOptions {
  // A kubeconfig file; null takes what kubectl would take, and inside a cluster the pod's own account.
  kubeconfig: string | null;
  // null: the namespace that the kubeconfig (or the pod) is in.
  namespace: string | null;
}

export interface Connection {
  cluster: Cluster;
  namespace: string;
  // For people: where the cluster is.
  server: string;
}

// The library takes half a second and 60 MB to load, so only a server that needs it does.
export async function connectCluster({ kubeconfig, namespace }: ConnectOptions): Promise<Connection> {
  const { KubeConfig } = await import("@kubernetes/client-node");
  const config = new KubeConfig();
  if (kubeconfig === null) config.loadFromDefault();
  else config.loadFromFile(kubeconfig);
  // What the library makes up when it has found nothing.
  if (config.getCurrentCluster()?.server === "http://localhost:8080") throw new Error("there is none, and this is not a pod of a cluster");
  return {
    cluster: createCluster(config),
    namespace: namespace ?? currentNamespace(config),
    server: config.getCurrentCluster()?.server ?? "",
  };
}

function currentNamespace(config: KubeConfig): string {
  const named = config.getContextObject(config.getCurrentContext())?.namespace;
  if (named) return named;
  return readFileIfReadable("/var/run/secrets/kubernetes.io/serviceaccount/namespace")?.trim() ?? "default";
}
