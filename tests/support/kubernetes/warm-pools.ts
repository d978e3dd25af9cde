import { createHash, randomBytes } from "node:crypto";
import { referenceTo } from "./controllers.ts";
import type { ApiObject, Objects } from "./objects.ts";

// The controllers of agent-sandbox's extensions: a SandboxWarmPool keeps a number of Sandboxes ready, a SandboxClaim adopts
// one of them, and the pool creates another. They behave like agent-sandbox 0.5.6.
const POOL_LABEL = "agents.x-k8s.io/warm-pool-sandbox";
const HASH_LABEL = "agents.x-k8s.io/sandbox-template-hash";
const CLAIM_LABEL = "agents.x-k8s.io/claim-uid";

export function reconcileWarmPools(objects: Objects): void {
  for (const pool of objects.list("sandboxwarmpools")) reconcilePool(objects, pool);
  for (const claim of objects.list("sandboxclaims")) reconcileClaim(objects, claim);
}

function reconcilePool(objects: Objects, pool: ApiObject): void {
  const { replicas = 1, sandboxTemplateRef, updateStrategy } = pool.spec as unknown as PoolFields;
  const template = objects.get("sandboxtemplates", sandboxTemplateRef.name);
  if (!template) return;
  const { blueprint, hash } = blueprintOf(template);
  const mine = objects.list("sandboxes", `${POOL_LABEL}=${pool.metadata.name}`);
  const stale = updateStrategy?.type === "Recreate" ? mine.filter(({ metadata }) => metadata.labels?.[HASH_LABEL] !== hash) : [];
  for (const sandbox of stale) objects.remove("sandboxes", sandbox.metadata.name!);
  for (let missing = replicas - (mine.length - stale.length); missing > 0; missing--) {
    objects.create("sandboxes", {
      ...SANDBOX,
      metadata: {
        name: `${pool.metadata.name}-${randomBytes(3).toString("hex")}`,
        labels: { [POOL_LABEL]: pool.metadata.name!, [HASH_LABEL]: hash },
        ownerReferences: [referenceTo(pool)],
      },
      spec: structuredClone(blueprint),
    });
  }
  const ready = objects.list("sandboxes", `${POOL_LABEL}=${pool.metadata.name}`).filter(isReady).length;
  objects.setStatus("sandboxwarmpools", pool.metadata.name!, { replicas, readyReplicas: ready });
}

function reconcileClaim(objects: Objects, claim: ApiObject): void {
  const name = claim.metadata.name!;
  const recordFailure = (reason: string, message: string) =>
    objects.setStatus("sandboxclaims", name, { ...claim.status, conditions: [{ type: "Ready", status: "False", reason, message }] });
  const { warmPoolRef, additionalPodMetadata = {} } = claim.spec as unknown as ClaimFields;
  const bad = refuseMetadata(additionalPodMetadata);
  if (bad) return recordFailure("InvalidMetadata", bad);
  const pool = objects.get("sandboxwarmpools", warmPoolRef.name);
  if (!pool) return recordFailure("WarmPoolNotFound", `SandboxWarmPool "${warmPoolRef.name}" not found`);
  const template = objects.get("sandboxtemplates", (pool.spec as unknown as PoolFields).sandboxTemplateRef.name);
  if (!template) return recordFailure("TemplateNotFound", "the pool's SandboxTemplate is not there");
  const sandbox = boundTo(objects, claim) ?? adopt(objects, claim, pool, template) ?? makeCold(objects, claim, template);
  // The pod's labels and annotations come from the template and the claim and replace all others.
  const { podTemplate } = sandbox.spec as unknown as { podTemplate: PodTemplate };
  const metadata = podMetadata(claim, template);
  if (JSON.stringify(podTemplate.metadata) !== JSON.stringify(metadata))
    objects.replace("sandboxes", { ...sandbox, spec: { ...sandbox.spec, podTemplate: { ...podTemplate, metadata } } });
  objects.setStatus("sandboxclaims", name, {
    conditions: (sandbox.status as { conditions?: object[] } | undefined)?.conditions ?? [],
    sandbox: { name: sandbox.metadata.name! },
  });
}

const boundTo = (objects: Objects, claim: ApiObject) =>
  objects.list("sandboxes").find(({ metadata }) => metadata.ownerReferences?.some(({ uid }) => uid === claim.metadata.uid));

function adopt(objects: Objects, claim: ApiObject, pool: ApiObject, template: ApiObject): ApiObject | undefined {
  const waiting = objects.list("sandboxes", `${POOL_LABEL}=${pool.metadata.name}`);
  const found = waiting.find(isReady) ?? waiting[0];
  if (!found) return undefined;
  const sandbox = structuredClone(found);
  delete sandbox.metadata.labels![POOL_LABEL];
  delete sandbox.metadata.labels![HASH_LABEL];
  sandbox.metadata.labels![CLAIM_LABEL] = claim.metadata.uid!;
  sandbox.metadata.ownerReferences = [referenceTo(claim)];
  (sandbox.spec as unknown as { podTemplate: PodTemplate }).podTemplate.metadata = podMetadata(claim, template);
  return objects.replace("sandboxes", sandbox);
}

function makeCold(objects: Objects, claim: ApiObject, template: ApiObject): ApiObject {
  const spec = blueprintOf(template).blueprint;
  (spec as unknown as { podTemplate: PodTemplate }).podTemplate.metadata = podMetadata(claim, template);
  const metadata = { name: claim.metadata.name!, labels: { [CLAIM_LABEL]: claim.metadata.uid! }, ownerReferences: [referenceTo(claim)] };
  return objects.create("sandboxes", { ...SANDBOX, metadata, spec })!;
}

function podMetadata(claim: ApiObject, template: ApiObject): PodTemplate["metadata"] {
  const { metadata } = (template.spec as unknown as { podTemplate: PodTemplate }).podTemplate;
  const { labels, annotations } = (claim.spec as unknown as ClaimFields).additionalPodMetadata ?? {};
  return { labels: { ...metadata.labels, ...labels }, annotations: { ...metadata.annotations, ...annotations } };
}

// Labels are copied only if they have the controller's domain, annotations unless they have the system's.
function refuseMetadata({ labels = {}, annotations = {} }: Metadata): string | null {
  const label = Object.keys(labels).find((key) => !key.startsWith("sandbox.users.io/"));
  if (label) return `failed to validate label "${label}": label domain is not in the allowlist`;
  const annotation = Object.keys(annotations).find((key) => /(^|\.)(kubernetes\.io|k8s\.io|agents\.x-k8s\.io)\//.test(key));
  return annotation ? `failed to validate annotation "${annotation}": restricted system domain` : null;
}

function blueprintOf(template: ApiObject): { blueprint: Record<string, unknown>; hash: string } {
  const { podTemplate, volumeClaimTemplates, service } = template.spec!;
  const blueprint = structuredClone({ podTemplate, volumeClaimTemplates, service });
  return { blueprint, hash: createHash("sha256").update(JSON.stringify(blueprint)).digest("hex").slice(0, 16) };
}

const SANDBOX = { apiVersion: "agents.x-k8s.io/v1beta1", kind: "Sandbox" };

const isReady = ({ status }: ApiObject) =>
  ((status as { conditions?: { type: string; status: string }[] } | undefined)?.conditions ?? []).some(
    (condition) => condition.type === "Ready" && condition.status === "True",
  );

interface Metadata {
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
}

interface PodTemplate {
  metadata: Metadata;
}

interface PoolFields {
  replicas?: number;
  sandboxTemplateRef: { name: string };
  updateStrategy?: { type?: string };
}

interface ClaimFields {
  warmPoolRef: { name: string };
  additionalPodMetadata?: Metadata;
}
