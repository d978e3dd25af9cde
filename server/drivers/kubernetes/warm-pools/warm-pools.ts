import type { KubernetesObject } from "@kubernetes/client-node";
import type { Template } from "@berth/contract";
import { templateHash } from "../../../templates.ts";
import { createAdoption, type Adoption } from "./adoption.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { commonLabels, EXTENSIONS, VOLUME } from "../cluster/names.ts";
import { describeVolumeClaim, describePod, type PodSettings } from "../pods/pod-spec.ts";

// SandboxWarmPools that an operator has created in the cluster, each for one of our templates. The operator decides how many sandboxes
// a pool has. We decide what they are, so the server writes the SandboxTemplate that the pool refers to.
export interface WarmPools {
  // The name of the template's pool. undefined if it has none.
  of(template: Template): string | undefined;
  adopt: Adoption["adopt"];
  // Writes the SandboxTemplates for the current settings. No-op if they have not changed since the last call.
  publish(settings: PodSettings): Promise<void>;
}

export interface WarmPoolsSettings {
  // Maps the name of a template to the name of its SandboxWarmPool.
  pools: ReadonlyMap<string, string>;
  templates: ReadonlyMap<string, Template>;
  // 32 secret bytes each, newest first.
  seeds: readonly Buffer[];
}

export interface WarmPoolsOptions extends WarmPoolsSettings {
  cluster: Cluster;
  namespace: string;
  installation: string;
}

export interface SandboxWarmPool extends KubernetesObject {
  spec: { sandboxTemplateRef: { name: string }; updateStrategy?: { type?: string } };
}

export const warmPoolPath = (namespace: string, name: string) => `${EXTENSIONS}/namespaces/${namespace}/sandboxwarmpools/${name}`;
const templatesPath = (namespace: string, name?: string) =>
  `${EXTENSIONS}/namespaces/${namespace}/sandboxtemplates${name ? `/${name}` : ""}`;

const PUBLISH_TIMEOUT_MS = 30_000;

export function createWarmPools({ pools, templates, seeds, cluster, namespace, installation }: WarmPoolsOptions): WarmPools {
  const adoption = createAdoption(seeds);
  let published = "";

  // Idempotent, so any number of servers may write the same template.
  async function write(name: string, pool: string, settings: PodSettings): Promise<void> {
    const signal = AbortSignal.timeout(PUBLISH_TIMEOUT_MS);
    const template = templates.get(name);
    if (!template) throw new Error(`BERTH_KUBERNETES_WARM_POOLS names the template ${name}, which does not exist`);
    const found = await cluster.get<SandboxWarmPool>(warmPoolPath(namespace, pool), signal);
    if (!found) throw new Error(`there is no SandboxWarmPool ${pool} in ${namespace}`);
    const wanted = describeTemplate(found.spec.sandboxTemplateRef.name, template, settings, adoption.publicKey, installation);
    if (!(await cluster.create(templatesPath(namespace), wanted, signal)))
      await cluster.patch(templatesPath(namespace, wanted.metadata.name), { spec: wanted.spec }, signal);
  }

  return {
    // A session with other resources than its template cannot use the template's pool.
    of(template) {
      const pooled = templates.get(template.name);
      return pooled && templateHash(pooled) === templateHash(template) ? pools.get(template.name) : undefined;
    },
    adopt: adoption.adopt,
    async publish(settings) {
      const current = JSON.stringify(settings);
      if (current === published) return;
      for (const [name, pool] of pools) await write(name, pool, settings);
      published = current;
    },
  };
}

export function describeTemplate(name: string, template: Template, settings: PodSettings, adoptKey: string, installation: string) {
  const labels = commonLabels(installation);
  return {
    apiVersion: "extensions.agents.x-k8s.io/v1beta1",
    kind: "SandboxTemplate",
    metadata: { name, labels },
    spec: {
      service: false,
      podTemplate: { metadata: { labels }, spec: describePod({ template, adoptKey }, settings, "Never") },
      volumeClaimTemplates: [{ metadata: { name: VOLUME, labels }, spec: describeVolumeClaim({ template }, settings) }],
      // The controller's default policy would allow the whole Internet. Policies are additive, so ours could not restrict it.
      networkPolicyManagement: "Unmanaged",
    },
  };
}
