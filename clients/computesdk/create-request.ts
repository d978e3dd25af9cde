import type { CreateSandboxOptions } from "@computesdk/provider";
import type { CreateSession, Resources } from "../../client/index.ts";

type Request = Omit<CreateSession, "externalUserId">;
// As Vercel's provider and Berth name them.
type Sizes = Resources & { vcpus?: number };

// Options of ComputeSDK that have no meaning here. ComputeSDK lets providers ignore what only others understand: how others name their
// machines and plans, the ports to open (every port has a URL), and the runtime (a template has what it has).
const IGNORED = ["provider", "signal", "ports", "runtime", "launch_parameters", "deploymentPlan", "size", "vmTier"];
// Fields of Berth's own create, which are passed on as they are.
const OWN: (keyof Request)[] = [
  "autoResume",
  "autoStartAgent",
  "egress",
  "idleTimeoutMs",
  "mcpServers",
  "onTimeout",
  "relays",
  "setup",
  "source",
  "volumes",
];

// The options of a create as Berth has them. An option that is not understood is refused, because it may restrict the sandbox.
export function toCreateSession(options: CreateSandboxOptions): Request {
  const { timeout, templateId, snapshotId, envs, metadata, name, namespace, ...others } = options;
  const { cpu, cpuLimit, cpus, vcpus, memory, memoryMiB, memMiB, memoryMb, diskMiB, resources, ...rest } = others;
  const { vcpus: nestedCpus, cpus: ownCpus, memoryMb: ownMemory, diskMb, ...unsized } = (resources ?? {}) as Sizes;
  const sized = withoutUndefined<Resources>({
    cpus: ownCpus ?? cpuLimit ?? cpus ?? cpu ?? vcpus ?? nestedCpus,
    memoryMb: ownMemory ?? memoryMb ?? memoryMiB ?? memMiB ?? memory,
    diskMb: diskMb ?? diskMiB,
  });
  const given = Object.keys(rest).filter((key) => rest[key] !== undefined);
  const unknown = [
    ...given.filter((key) => !IGNORED.includes(key) && !OWN.includes(key as keyof Request)),
    ...Object.keys(unsized).map((key) => `resources.${key}`),
  ];
  if (unknown.length > 0) throw new TypeError(`Berth's provider does not know the option ${unknown.join(", ")}`);
  return {
    // Nothing in ComputeSDK resumes a sandbox, or uses its coding agent.
    autoStartAgent: false,
    autoResume: true,
    onTimeout: "destroy",
    ...Object.fromEntries(given.filter((key) => !IGNORED.includes(key)).map((key) => [key, rest[key] as unknown])),
    ...withoutUndefined<Request>({
      timeoutMs: timeout,
      template: templateId,
      envVars: envs,
      ...(snapshotId !== undefined && { source: { snapshotId } }),
      ...(Object.keys(sized).length > 0 && { resources: sized }),
    }),
    metadata: toTexts({ ...metadata, name, namespace }),
  };
}

// Berth's metadata are texts.
function toTexts(metadata: Record<string, unknown>): Record<string, string> {
  const given = Object.entries(metadata).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given.map(([key, value]) => [key, typeof value === "string" ? value : JSON.stringify(value)]));
}

const withoutUndefined = <T extends object>(fields: { [K in keyof T]: T[K] | undefined }): Partial<T> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Partial<T>;
