import type { KubeConfig } from "@kubernetes/client-node";
import { readFileIfReadable } from "../../../bounded-io/read-small-file.ts";
import { createCluster, type Cluster } from "./cluster.ts";

export interface ConnectOptions {
  // The path of a kubeconfig file. null: the one that kubectl would use, or the service account if the server runs in a pod.
  kubeconfig: string | null;
  // null: the namespace of the kubeconfig or of the pod.
  namespace: string | null;
}

export interface Connection {
  cluster: Cluster;
  namespace: string;
  // The URL of the API server, for messages.
  server: string;
}

export async function connectCluster({ kubeconfig, namespace }: ConnectOptions): Promise<Connection> {
  const { KubeConfig } = await import("./kube-config.ts");
  const config = new KubeConfig();
  if (kubeconfig === null) config.loadFromDefault();
  else config.loadFromFile(kubeconfig);
  // The library's default if it finds no configuration.
  if (config.getCurrentCluster()?.server === "http://localhost:8080")
    throw new Error("there is none, and the server does not run in a pod");
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
