import { setTimeout as sleep } from "node:timers/promises";
import type { KubernetesObject, V1Condition } from "@kubernetes/client-node";
import { AppError } from "@berth/contract";
import type { Cluster } from "../cluster/cluster.ts";
import { ANNOTATION, EXTENSIONS, LABEL, labelsOf } from "../cluster/names.ts";

// SandboxClaims. A claim takes a Sandbox from a SandboxWarmPool and owns it from then on. The claim has the name that we choose; the
// Sandbox keeps the name that the pool gave it. If the pool is empty, the controller creates a Sandbox for the claim.
export interface Claims {
  // Resolves with the name of the claimed Sandbox. Idempotent: a repeated call returns the same one.
  take(name: string, pool: string, signal: AbortSignal): Promise<string>;
  // The name of the claimed Sandbox. null if there is none yet.
  sandboxOf(name: string, signal: AbortSignal): Promise<string | null>;
  // No-op if there is no such claim.
  remove(name: string, signal: AbortSignal): Promise<void>;
  // The names of all our claims.
  list(signal: AbortSignal): Promise<string[]>;
}

export interface ClaimsOptions {
  cluster: Cluster;
  namespace: string;
  installation: string;
  // The controller retries after an error, so only an error that lasts this long counts.
  controllerErrorMs: number;
}

interface SandboxClaim extends KubernetesObject {
  spec: { warmPoolRef: { name: string }; additionalPodMetadata: { annotations: Record<string, string> } };
  status?: { conditions?: V1Condition[]; sandbox?: { name?: string } };
}

const CREATE_TIMEOUT_MS = 30_000;
const POLL_MS = 50;
const TRANSIENT_REASONS = new Set(["SandboxMissing", "SandboxNotReady", "SandboxCreatePending", "AdoptionConflict"]);

export function createClaims({ cluster, namespace, installation, controllerErrorMs }: ClaimsOptions): Claims {
  const path = (name?: string) => `${EXTENSIONS}/namespaces/${namespace}/sandboxclaims${name ? `/${name}` : ""}`;
  const read = (name: string, signal: AbortSignal) => cluster.get<SandboxClaim>(path(name), signal);

  return {
    async take(name, pool, signal) {
      const claim: SandboxClaim = {
        apiVersion: "extensions.agents.x-k8s.io/v1beta1",
        kind: "SandboxClaim",
        metadata: { name, labels: labelsOf(installation, name) },
        spec: {
          warmPoolRef: { name: pool },
          // Tells which sandbox the pod belongs to. An annotation, because the controller copies labels only of the domains that it
          // is configured for. No variables or volumes, because a claim that has them is never served from the pool.
          additionalPodMetadata: { annotations: { [ANNOTATION.sandbox]: name } },
        },
      };
      // Not aborted by the caller's signal: a deletion cannot undo a creation that the API server has not finished.
      await cluster.create(path(), claim, AbortSignal.timeout(CREATE_TIMEOUT_MS));
      signal.throwIfAborted();
      let failingSinceMs: number | null = null;
      for (;;) {
        const found = await read(name, signal);
        if (!found || found.metadata?.deletionTimestamp) throw failure(`the claim ${name} is being deleted`);
        if (found.status?.sandbox?.name) return found.status.sandbox.name;
        const error = errorOf(found);
        failingSinceMs = error === null ? null : (failingSinceMs ?? performance.now());
        if (error !== null && performance.now() - failingSinceMs! >= controllerErrorMs) throw failure(error);
        await sleep(POLL_MS, undefined, { signal });
      }
    },

    sandboxOf: async (name, signal) => (await read(name, signal))?.status?.sandbox?.name ?? null,
    remove: (name, signal) => cluster.remove(path(name), { propagationPolicy: "Background" }, signal),

    async list(signal) {
      const { items } = await cluster.list<SandboxClaim>(path(), { labelSelector: `${LABEL.installation}=${installation}` }, signal);
      return items.filter(({ metadata }) => !metadata?.deletionTimestamp).map(({ metadata }) => metadata?.name ?? "");
    },
  };
}

function errorOf({ status }: SandboxClaim): string | null {
  const ready = status?.conditions?.find(({ type }) => type === "Ready");
  return ready?.status === "False" && !TRANSIENT_REASONS.has(ready.reason) ? `${ready.reason}: ${ready.message}` : null;
}

const failure = (reason: string) =>
  new AppError(/exceeded quota/.test(reason) ? "capacity_reached" : "sandbox_failed", { cause: new Error(`kubernetes: ${reason}`) });
