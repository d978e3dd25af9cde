import type { KubernetesObject } from "@kubernetes/client-node";
import type { Template } from "@berth/contract";
import { createAdoption, type Adoption } from "./adoption.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { commonLabels, EXTENSIONS, VOLUME } from "../cluster/names.ts";
import { describeVolumeClaim, describePod, type PodSettings } from "../pods/pod-spec.ts";

// SandboxWarmPools that somebody has made in the cluster, each for one of our templates. How many sandboxes such a pool
// holds is its owner's business; what they are is ours, so the SandboxTemplate that the pool names is written by us.
export interface WarmPools {
  of(template: Template): string | undefined;
  adopt: Adoption["adopt"];
  // Writes what today's sandboxes are, unless that is written already.
  publish(settings: PodSettings): Promise<void>;
}

export interface WarmPoolsSettings {
  // Template name -> SandboxWarmPool.
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

const PUBLISH_MS = 30_000;

export function createWarmPools({ pools, templates, seeds, cluster, namespace, installation }: WarmPoolsOptions): WarmPools {
  const adoption = createAdoption(seeds);
  let published = "";

  // A template that says so already is left as it is by the API server, so any number of servers may write it.
  async function write(name: string, pool: string, settings: PodSettings): Promise<void> {
    const signal = AbortSignal.timeout(PUBLISH_MS);
    const template = templates.get(name);
    if (!template) throw new Error(`BERTH_KUBERNETES_WARM_POOLS names the template ${name}, which does not exist`);
    const found = await cluster.get<SandboxWarmPool>(warmPoolPath(namespace, pool), signal);
    if (!found) throw new Error(`there is no SandboxWarmPool ${pool} in ${namespace}`);
    const wanted = describeTemplate(found.spec.sandboxTemplateRef.name, template, settings, adoption.publicKey, installation);
    if (!(await cluster.create(templatesPath(namespace), wanted, signal)))
      await cluster.patch(templatesPath(namespace, wanted.metadata.name), { spec: wanted.spec }, signal);
  }

  return {
    of: (template) => pools.get(template.name),
    adopt: adoption.adopt,
    async publish(settings) {
      const today = JSON.stringify(settings);
      if (today === published) return;
      for (const [name, pool] of pools) await write(name, pool, settings);
      published = today;
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
      // The controller's own policy would open the way to the whole Internet beside ours: policies only ever add.
      networkPolicyManagement: "Unmanaged",
    },
  };
}
