import { setTimeout as sleep } from "node:timers/promises";
import type { V1Pod } from "@kubernetes/client-node";
import type { Log } from "../../../log.ts";
import { TooOld, type Cluster } from "../cluster/cluster.ts";
import { ANNOTATION, LABEL, podsPath } from "../cluster/names.ts";
import { isLeaving } from "./pod-state.ts";

// The pods of this installation, kept up to date by a watch. When the watch breaks (the API server restarts, its history
// is gone) the list is read anew and the watch begins again; until then the last known pods stand, so that sessions go on
// while the API server is away.
export interface Pods extends AsyncDisposable {
  // The newest that is not on its way out comes first.
  of(name: string): V1Pod[];
  // Resolves at the next change of the sandbox's pods to true, or after `atMostMs` to false.
  changed(name: string, atMostMs: number, signal: AbortSignal): Promise<boolean>;
  // A pod, by its own name, as the API server has it: the truth, where the watch may be behind.
  read(pod: string, signal: AbortSignal): Promise<V1Pod | null>;
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
  const waiting = new Map<string, Set<(changed: boolean) => void>>();
  const ended = new AbortController();
  const path = podsPath(namespace);
  const ours = { labelSelector: `${LABEL.installation}=${installation}` };
  const done = keepWatching();

  async function keepWatching(): Promise<void> {
    for (let backoffMs = 0; !ended.signal.aborted;) {
      try {
        const list = await cluster.list<V1Pod>(path, ours, ended.signal);
        replaceAll(list.items);
        backoffMs = 0;
        await follow(list.metadata.resourceVersion ?? "");
      } catch (error) {
        if (ended.signal.aborted) return;
        if (error instanceof TooOld) continue;
        backoffMs = Math.min(MAX_BACKOFF_MS, backoffMs * 2 || 100);
        log.warn("kubernetes.watch_broken", { error: String((error as Error).cause ?? error), againInMs: backoffMs });
        await sleep(backoffMs, undefined, { signal: ended.signal }).catch(() => {});
      }
    }
  }

  // A watch that the server closed in order goes on where it ended.
  async function follow(from: string): Promise<void> {
    for (let version = from; !ended.signal.aborted;) {
      const began = version;
      for await (const { type, object } of cluster.watch<V1Pod>(path, { ...ours, resourceVersion: version }, ended.signal)) {
        version = object.metadata?.resourceVersion ?? version;
        if (type === "DELETED") forget(object);
        else if (type !== "BOOKMARK") remember(object);
      }
      if (version === began) await sleep(100, undefined, { signal: ended.signal });
    }
  }

  function remember(pod: V1Pod): void {
    const name = sandboxOf(pod);
    // It waits in a warm pool, and is nobody's yet.
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
    for (const resolve of waiting.get(name) ?? []) resolve(true);
  }

  return {
    of: (name) => newestFirst([...(known.get(name)?.values() ?? [])]),

    async changed(name, atMostMs, signal) {
      const heard = Promise.withResolvers<boolean>();
      const others = waiting.get(name) ?? new Set();
      waiting.set(name, others.add(heard.resolve));
      const giveUp = () => heard.resolve(false);
      const timer = setTimeout(giveUp, atMostMs);
      signal.addEventListener("abort", giveUp, { once: true });
      const changed = await heard.promise;
      signal.removeEventListener("abort", giveUp);
      clearTimeout(timer);
      others.delete(heard.resolve);
      if (others.size === 0) waiting.delete(name);
      signal.throwIfAborted();
      return changed;
    },

    read: (pod, signal) => cluster.get<V1Pod>(podsPath(namespace, pod), signal),

    async [Symbol.asyncDispose]() {
      ended.abort();
      await done;
    },
  };
}

// Whose pod it is.
export const sandboxOf = ({ metadata }: Pick<V1Pod, "metadata">) =>
  metadata?.labels?.[LABEL.sandbox] ?? metadata?.annotations?.[ANNOTATION.sandbox] ?? "";

export function newestFirst(pods: V1Pod[]): V1Pod[] {
  const bornAt = (pod: V1Pod) => new Date(pod.metadata?.creationTimestamp ?? 0).getTime();
  return pods.toSorted((a, b) => Number(isLeaving(a)) - Number(isLeaving(b)) || bornAt(b) - bornAt(a));
}
