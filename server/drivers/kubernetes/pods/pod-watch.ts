import { setTimeout as sleep } from "node:timers/promises";
import type { V1Pod } from "@kubernetes/client-node";
import type { Log } from "../../../log.ts";
import { ResourceVersionTooOld, type Cluster } from "../cluster/cluster.ts";
import { ANNOTATION, LABEL, podsPath } from "../cluster/names.ts";
import { isTerminating } from "./pod-state.ts";

// The pods of this installation, kept up to date by a watch. If the watch breaks, because the API server restarts or no longer has
// the version, the pods are listed again and a new watch starts: after some seconds, or as soon as another call is answered. Until then the last known pods remain, so that sessions continue
// while the API server is down.
export interface Pods extends AsyncDisposable {
  // The known pods of a sandbox. The newest one that is not terminating comes first.
  of(name: string): V1Pod[];
  // The known pods of all sandboxes.
  all(): V1Pod[];
  // Follows the pods of a sandbox until disposed.
  follow(name: string): PodChanges;
  // Reads a pod by its own name from the API server, because the watch may lag behind.
  read(pod: string, signal: AbortSignal): Promise<V1Pod | null>;
}

export interface PodChanges extends Disposable {
  // Resolves with true if the pods have changed since the last call resolved, or when they change, and with false after `atMostMs`. So a
  // change while the caller reads a pod is not missed.
  next(atMostMs: number, signal: AbortSignal): Promise<boolean>;
}

export interface PodsOptions {
  cluster: Cluster;
  namespace: string;
  installation: string;
  log: Log;
}

const MAX_BACKOFF_MS = 5_000;

export function watchPods({ cluster, namespace, installation, log }: PodsOptions): Pods {
  const known = new Map<string, Map<string, V1Pod>>();
  const followers = new Map<string, Set<() => void>>();
  const disposed = new AbortController();
  const path = podsPath(namespace);
  const selected = { labelSelector: `${LABEL.installation}=${installation}` };
  const done = keepWatching();

  async function keepWatching(): Promise<void> {
    for (let backoffMs = 0; !disposed.signal.aborted;) {
      try {
        const list = await cluster.list<V1Pod>(path, selected, disposed.signal);
        replaceAll(list.items);
        backoffMs = 0;
        await follow(list.metadata.resourceVersion ?? "");
      } catch (error) {
        if (disposed.signal.aborted) return;
        if (error instanceof ResourceVersionTooOld) continue;
        backoffMs = Math.min(MAX_BACKOFF_MS, backoffMs * 2 || 100);
        log.warn("kubernetes.watch_broken", { error: String((error as Error).cause ?? error), retryInMs: backoffMs });
        await cluster.awaitResponse(backoffMs, disposed.signal);
      }
    }
  }

  // When the server closes a watch normally, starts the next one at the last version.
  async function follow(from: string): Promise<void> {
    for (let version = from; !disposed.signal.aborted;) {
      const startVersion = version;
      for await (const { type, object } of cluster.watch<V1Pod>(path, { ...selected, resourceVersion: version }, disposed.signal)) {
        version = object.metadata?.resourceVersion ?? version;
        if (type === "DELETED") forget(object);
        else if (type !== "BOOKMARK") remember(object);
      }
      if (version === startVersion) await sleep(100, undefined, { signal: disposed.signal });
    }
  }

  function remember(pod: V1Pod): void {
    const name = sandboxOf(pod);
    // The pod waits in a warm pool and has no sandbox yet.
    if (name === "") return;
    const pods = known.get(name) ?? new Map<string, V1Pod>();
    known.set(name, pods.set(pod.metadata?.uid ?? "", pod));
    wake(name);
  }

  function forget(pod: V1Pod): void {
    const name = sandboxOf(pod);
    known.get(name)?.delete(pod.metadata?.uid ?? "");
    if (known.get(name)?.size === 0) known.delete(name);
    wake(name);
  }

  function replaceAll(pods: V1Pod[]): void {
    const names = [...known.keys()];
    known.clear();
    for (const pod of pods) remember(pod);
    for (const name of names) wake(name);
  }

  function wake(name: string): void {
    for (const notify of followers.get(name) ?? []) notify();
  }

  return {
    of: (name) => newestFirst([...(known.get(name)?.values() ?? [])]),

    all: () => [...known.values()].flatMap((pods) => [...pods.values()]),

    follow(name) {
      let change = Promise.withResolvers<boolean>();
      const notify = () => change.resolve(true);
      const ours = followers.get(name) ?? new Set();
      followers.set(name, ours.add(notify));
      return {
        async next(atMostMs, signal) {
          const giveUp = () => change.resolve(false);
          const timer = setTimeout(giveUp, atMostMs);
          signal.addEventListener("abort", giveUp, { once: true });
          const changed = await change.promise;
          change = Promise.withResolvers();
          signal.removeEventListener("abort", giveUp);
          clearTimeout(timer);
          signal.throwIfAborted();
          return changed;
        },
        [Symbol.dispose]() {
          ours.delete(notify);
          if (ours.size === 0 && followers.get(name) === ours) followers.delete(name);
        },
      };
    },

    read: (pod, signal) => cluster.get<V1Pod>(podsPath(namespace, pod), signal),

    async [Symbol.asyncDispose]() {
      disposed.abort();
      await done;
    },
  };
}

// The name of the sandbox that a pod belongs to. Empty for a pod in a warm pool.
export const sandboxOf = ({ metadata }: Pick<V1Pod, "metadata">) =>
  metadata?.labels?.[LABEL.sandbox] ?? metadata?.annotations?.[ANNOTATION.sandbox] ?? "";

export function newestFirst(pods: V1Pod[]): V1Pod[] {
  const createdAt = (pod: V1Pod) => new Date(pod.metadata?.creationTimestamp ?? 0).getTime();
  return pods.toSorted((a, b) => Number(isTerminating(a)) - Number(isTerminating(b)) || createdAt(b) - createdAt(a));
}
