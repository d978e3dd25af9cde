import type { ChildProcess } from "node:child_process";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { V1PodSpec } from "@kubernetes/client-node";
import { snapshotFlags } from "../../../../server/drivers/process/snapshot-flags.ts";
import type { ApiObject, Objects } from "../objects.ts";
import type { Pace } from "../pace.ts";
import { createPodNetwork } from "./pod-network.ts";
import { accepts, InitFailure, killAll, nextAddress, prepareVolumes, startProcess } from "./pod-process.ts";
import {
  endedStatus,
  failedInitStatus,
  runningStatus,
  silentStatus,
  statusWithoutImage,
  unschedulableStatus,
  type PodStatus,
} from "./pod-status.ts";
import { chooseNode } from "./scheduler.ts";

// Scheduler, kubelet and container runtime in one. A pod is a process of this machine with its own loopback address, and a
// volume is a folder.
export interface Kubelet extends AsyncDisposable {
  // Schedules, starts and ends pods as their objects say.
  sync(): void;
  deletePod(name: string, graceSeconds?: number): void;
  // The node dies: its processes are gone, and the API still shows its last report.
  loseNode(node: string): void;
  // The node stops reporting but its processes keep running, as if it lost its network or its kubelet.
  silenceNode(node: string): void;
  // A silent node reports its pods again and ends those that were deleted in the meantime.
  returnNode(node: string): void;
  // Stops the scheduler until disposed. It then takes the newest pod first, because a scheduler promises no order.
  holdScheduling(): Disposable;
  // Adds a node, like an autoscaler.
  addNode(node: string): void;
  nodeOf(pod: string): string | undefined;
  pidOf(pod: string): number | undefined;
}

export interface KubeletOptions {
  objects: Objects;
  // The contents of /opt/berth in an image of templates.
  image: string;
  folder: string;
  nodes: string[];
  podsPerNode: number;
  // An image that no registry has.
  missingImage: string;
  // The variables of images, by their names.
  imageEnv: Record<string, Record<string, string>>;
  pace: Pace;
  // The delay between the start of the daemon and Ready.
  readyDelayMs: () => number;
  // The time until the control plane evicts the pods of a silent node; null: never.
  evictAfterMs: number | null;
}

interface Run {
  node: string;
  ip: string;
  child?: ChildProcess;
  folder?: string;
  restarts: number;
  leaving: boolean;
  // The node's last report about it.
  reported?: PodStatus;
}

export function createKubelet(options: KubeletOptions): Kubelet {
  const { objects, image, folder, missingImage, imageEnv, readyDelayMs, evictAfterMs, podsPerNode, pace } = options;
  let schedulerIsBusy = false;
  let newestFirst = false;
  const nodes = new Set(options.nodes);
  const runs = new Map<string, Run>();
  const ended = new AbortController();
  const silences = new Map<string, AbortController>();
  const works = new Set<Promise<void>>();
  const network = createPodNetwork();
  const flags = snapshotFlags(image);

  function background(work: Promise<void>): void {
    const kept = work.catch(() => {}).finally(() => works.delete(kept));
    works.add(kept);
  }

  function sync(): void {
    // Controllers may still be scheduled when the double is disposed.
    if (ended.signal.aborted) return;
    for (const pod of newestFirst ? waitingPods().reverse() : waitingPods()) {
      const uid = pod.metadata.uid!;
      const choice = chooseNode({ objects, nodes, podsPerNode, nodeOf }, pod);
      if ("message" in choice) {
        report(uid, unschedulableStatus(choice.message));
        continue;
      }
      const run: Run = { ...choice, ip: nextAddress(), restarts: 0, leaving: false };
      runs.set(uid, run);
      objects.merge("pods", pod.metadata.name!, { spec: { nodeName: choice.node } });
      background(start(uid, run));
    }
  }

  function waitingPods(): ApiObject[] {
    if (schedulerIsBusy) return [];
    const waiting = objects.list("pods").filter(({ metadata }) => !runs.has(metadata.uid!) && !metadata.deletionTimestamp);
    const nowMs = Date.now();
    const leftMs = ({ metadata }: ApiObject) => metadata.creationTimestamp!.getTime() + pace.scheduleMs - nowMs;
    const nextMs = Math.min(...waiting.map(leftMs).filter((ms) => ms > 0));
    if (nextMs !== Infinity) setTimeout(sync, nextMs).unref();
    return waiting.filter((pod) => leftMs(pod) <= 0);
  }

  const nodeOf = ({ metadata }: ApiObject) => runs.get(metadata.uid!)?.node;

  const podOf = (uid: string) => objects.list("pods").find((pod) => pod.metadata.uid === uid);

  function report(uid: string, status: PodStatus): void {
    const pod = podOf(uid);
    if (pod) objects.setStatus("pods", pod.metadata.name!, { ...status });
  }

  // The node's own view. It reaches the API only while the node is not silent.
  function reportFrom(uid: string, run: Run, status: PodStatus): void {
    run.reported = status;
    if (nodes.has(run.node)) report(uid, status);
  }

  async function start(uid: string, run: Run): Promise<void> {
    await sleep(pace.startMs(), undefined, { signal: ended.signal });
    const pod = podOf(uid);
    if (!pod || run.leaving) return;
    const spec = pod.spec as unknown as V1PodSpec;
    const container = spec.containers[0]!;
    if (container.image === missingImage) return reportFrom(uid, run, statusWithoutImage(missingImage));
    const prepared = await prepareVolumes({ spec, uid, folder, image, imageEnv: imageEnv[container.image!] ?? {} }).catch(
      (error: unknown) => {
        if (error instanceof InitFailure) reportFrom(uid, run, failedInitStatus(error, spec));
        throw error;
      },
    );
    const { env, mounts, runtime } = prepared;
    env["BERTH_LISTEN"] = env["BERTH_LISTEN"]!.replace("0.0.0.0", run.ip);
    if (env["BERTH_EGRESS"] !== undefined) env["BERTH_EGRESS"] = await network.route(run.ip, env["BERTH_EGRESS"]);
    if (run.leaving || ended.signal.aborted) return;
    const child = startProcess([join(runtime, "host/node"), ...flags, join(runtime, "daemon.cjs")], { env, mounts });
    run.child = child;
    run.folder = env["BERTH_WORKSPACE"]!;
    child.once("exit", () => background(onExit(uid, run, spec)));
    reportFrom(uid, run, runningStatus(run, { ready: false }));
    const port = Number(env["BERTH_LISTEN"].split(":").at(-1));
    while (!run.leaving && child.exitCode === null && !(await accepts(run.ip, port))) await sleep(50, undefined, { signal: ended.signal });
    await sleep(readyDelayMs(), undefined, { signal: ended.signal });
    if (child.exitCode === null && child.signalCode === null && !run.leaving) reportFrom(uid, run, runningStatus(run, { ready: true }));
  }

  async function onExit(uid: string, run: Run, spec: V1PodSpec): Promise<void> {
    killProcesses(run);
    if (run.leaving) return;
    if (spec.restartPolicy === "Always") {
      run.restarts++;
      return start(uid, run);
    }
    reportEnd(uid, run);
  }

  function reportEnd(uid: string, run: Run): void {
    reportFrom(uid, run, endedStatus(run, run.child?.exitCode ?? 137));
  }

  function deletePod(name: string, graceSeconds = 5): void {
    const pod = objects.get("pods", name);
    if (!pod) return;
    const uid = pod.metadata.uid!;
    const run = runs.get(uid);
    if (graceSeconds === 0 || !run) {
      if (run && nodes.has(run.node)) endRun(run);
      return objects.remove("pods", name);
    }
    if (pod.metadata.deletionTimestamp) return;
    // The time by which the pod must be gone, not the time of the request.
    const deletionTimestamp = new Date(Date.now() + graceSeconds * 1000).toISOString();
    objects.merge("pods", name, { metadata: { deletionTimestamp, deletionGracePeriodSeconds: graceSeconds } });
    if (nodes.has(run.node)) background(leave(uid, run, graceSeconds));
  }

  async function leave(uid: string, run: Run, graceSeconds: number): Promise<void> {
    run.leaving = true;
    const { child } = run;
    if (child && child.exitCode === null && child.signalCode === null) {
      const exited = new Promise((resolve) => child.once("exit", resolve));
      child.kill("SIGTERM");
      const timer = setTimeout(() => child.kill("SIGKILL"), graceSeconds * 1000);
      await exited;
      clearTimeout(timer);
    }
    killProcesses(run);
    // The process ends before the object is deleted, so in between the pod has an address where nothing listens.
    reportEnd(uid, run);
    await sleep(pace.endMs);
    const pod = podOf(uid);
    if (pod) objects.remove("pods", pod.metadata.name!);
  }

  function holdScheduling(): Disposable {
    schedulerIsBusy = true;
    return {
      [Symbol.dispose]() {
        schedulerIsBusy = false;
        newestFirst = true;
        sync();
      },
    };
  }

  function addNode(node: string): void {
    nodes.add(node);
    sync();
  }

  function silenceNode(node: string): void {
    nodes.delete(node);
    const returned = new AbortController();
    silences.set(node, returned);
    for (const [uid, run] of runs) {
      const pod = podOf(uid);
      if (run.node !== node || !pod) continue;
      report(uid, silentStatus(pod.status as unknown as PodStatus));
      if (evictAfterMs === null) continue;
      const signal = AbortSignal.any([ended.signal, returned.signal]);
      background(sleep(evictAfterMs, undefined, { signal }).then(() => deletePod(pod.metadata.name!)));
    }
  }

  function returnNode(node: string): void {
    silences.get(node)?.abort();
    silences.delete(node);
    nodes.add(node);
    for (const [uid, run] of runs) {
      if (run.node !== node) continue;
      const pod = podOf(uid);
      if (!pod) endRun(run);
      else if (pod.metadata.deletionTimestamp) background(leave(uid, run, pod.metadata.deletionGracePeriodSeconds ?? 0));
      else if (run.reported) report(uid, run.reported);
    }
  }

  function loseNode(node: string): void {
    silenceNode(node);
    for (const run of runs.values()) if (run.node === node) endRun(run);
  }

  // Processes that use the volume belong to the pod, unless the next pod already uses it.
  function killProcesses(run: Run): void {
    const isShared = [...runs.values()].some((other) => other !== run && other.folder === run.folder && !other.leaving);
    killAll(isShared && run.child ? { child: run.child } : run);
  }

  function endRun(run: Run): void {
    run.leaving = true;
    killProcesses(run);
  }

  return {
    sync,
    deletePod,
    loseNode,
    silenceNode,
    returnNode,
    holdScheduling,
    addNode,
    nodeOf: (pod) => runs.get(objects.get("pods", pod)?.metadata.uid ?? "")?.node,
    pidOf: (pod) => runs.get(objects.get("pods", pod)?.metadata.uid ?? "")?.child?.pid,
    async [Symbol.asyncDispose]() {
      ended.abort();
      const exits = [...runs.values()].map(
        ({ child }) =>
          child && child.exitCode === null && child.signalCode === null && new Promise((resolve) => child.once("exit", resolve)),
      );
      for (const run of runs.values()) endRun(run);
      await Promise.all([...exits, ...works]);
      await network[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
