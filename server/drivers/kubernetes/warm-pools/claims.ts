import { setTimeout as sleep } from "node:timers/promises";
import type { KubernetesObject, V1Condition } from "@kubernetes/client-node";
import { AppError } from "@berth/contract";
import type { Cluster } from "../cluster/cluster.ts";
import { ANNOTATION, EXTENSIONS, LABEL, labelsOf } from "../cluster/names.ts";

// SandboxClaims: a claim takes a Sandbox out of a SandboxWarmPool and owns it from then on. The claim has our name, the
// Sandbox keeps the one that the pool gave it. Where the pool is empty the controller makes a Sandbox for the claim.
export interface Claims {
  // Resolves with the name of the claim's Sandbox. Repeated, it finds the same one.
  take(name: string, pool: string, signal: AbortSignal): Promise<string>;
  // The Sandbox of a claim, as far as there is one.
  sandboxOf(name: string, signal: AbortSignal): Promise<string | null>;
  remove(name: string, signal: AbortSignal): Promise<void>;
  // The names of all our claims.
  list(signal: AbortSignal): Promise<string[]>;
}

export interface ClaimsOptions {
  cluster: Cluster;
  namespace: string;
  installation: string;
}

interface SandboxClaim extends KubernetesObject {
  spec: { warmPoolRef: { name: string }; additionalPodMetadata: { annotations: Record<string, string> } };
  status?: { conditions?: V1Condition[]; sandbox?: { name?: string } };
}

const CREATE_MS = 30_000;
const LOOK_MS = 50;
// What the controller complains of may be mended at its next try.
const COMPLAINT_PATIENCE_MS = 5_000;
const HARMLESS = new Set(["SandboxMissing", "SandboxNotReady", "SandboxCreatePending", "AdoptionConflict"]);

export function createClaims({ cluster, namespace, installation }: ClaimsOptions): Claims {
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
          // Which pod is whose. An annotation, because the controller lets labels through only for domains that it was
          // started with. No variables and no volumes: a claim that asks for them is never served from the pool.
          additionalPodMetadata: { annotations: { [ANNOTATION.sandbox]: name } },
        },
      };
      // Without the caller's signal: a request that the API server still works on cannot be taken back by a deletion.
      await cluster.create(path(), claim, AbortSignal.timeout(CREATE_MS));
      signal.throwIfAborted();
      let complainingSinceMs: number | null = null;
      for (;;) {
        const found = await read(name, signal);
        if (!found || found.metadata?.deletionTimestamp) throw failure(`the claim ${name} is being deleted`);
        if (found.status?.sandbox?.name) return found.status.sandbox.name;
        const complaint = complaintOf(found);
        complainingSinceMs = complaint === null ? null : (complainingSinceMs ?? performance.now());
        if (complaint !== null && performance.now() - complainingSinceMs! >= COMPLAINT_PATIENCE_MS) throw failure(complaint);
        await sleep(LOOK_MS, undefined, { signal });
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

function complaintOf({ status }: SandboxClaim): string | null {
  const ready = status?.conditions?.find(({ type }) => type === "Ready");
  return ready?.status === "False" && !HARMLESS.has(ready.reason) ? `${ready.reason}: ${ready.message}` : null;
}

const failure = (reason: string) =>
  new AppError(/exceeded quota/.test(reason) ? "capacity_reached" : "sandbox_failed", { cause: new Error(`kubernetes: ${reason}`) });
