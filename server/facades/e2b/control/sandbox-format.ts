import type { EgressPolicy, SandboxId } from "@berth/contract";
import { describeEntry, deniedOf } from "../../../egress-hosts.ts";
import type { SessionView } from "../../../sessions/sessions.ts";
import { limitTemplate } from "../../../session-limits.ts";
import type { Templates } from "../../../templates.ts";
import type { Access } from "../access.ts";
import { splitMetadata } from "../sandbox-facts.ts";

// The version of E2B's daemon whose calls the facade knows. SDKs offer what it can.
export const ENVD_VERSION = "0.6.4";

export interface FormatDeps {
  access: Access;
  templates: Pick<Templates, "get">;
  // Below which the web servers of sandboxes have hosts; null if there is none.
  domain: string | null;
}

export type SandboxFormat = ReturnType<typeof createSandboxFormat>;

// Sessions as E2B's API describes sandboxes.
export function createSandboxFormat({ access, templates, domain }: FormatDeps) {
  const head = ({ sandboxId, template }: Pick<SessionView, "sandboxId" | "template">) => ({
    sandboxID: sandboxId,
    templateID: template,
    clientID: "berth",
    envdVersion: ENVD_VERSION,
  });

  const credentials = (sandboxId: SandboxId, hasPublicTraffic: boolean) => ({
    envdAccessToken: access.tokenOf("access", sandboxId),
    ...(!hasPublicTraffic && { trafficAccessToken: access.tokenOf("traffic", sandboxId) }),
    domain,
  });

  function listed(view: SessionView) {
    const { metadata } = splitMetadata(view);
    const template = templates.get(view.template);
    const { cpus = 1, memoryMb = 0, diskMb = 0 } = template ? limitTemplate(template, view) : {};
    return {
      ...head(view),
      startedAt: new Date(view.createdAt).toISOString(),
      endAt: new Date(view.expiresAt ?? view.updatedAt).toISOString(),
      cpuCount: Math.ceil(cpus),
      memoryMB: memoryMb,
      diskSizeMB: diskMb,
      metadata,
      state: view.status,
      volumeMounts: (view.volumes ?? []).map(({ name, path }) => ({ name, path })),
    };
  }

  return {
    listed,
    created: (view: SessionView) => ({ ...head(view), ...credentials(view.sandboxId, splitMetadata(view).facts?.publicTraffic ?? false) }),
    detailed(view: SessionView) {
      const { publicTraffic = false } = splitMetadata(view).facts ?? {};
      const { egress } = view;
      return {
        ...listed(view),
        // Without the tokens: a key that may only read gets this too.
        domain,
        allowInternetAccess: egress?.policy !== "none",
        network: {
          allowPublicTraffic: publicTraffic,
          ...(egress && (egress.policy === "public" ? { denyOut: egress.deny ?? [] } : closed(egress))),
        },
        lifecycle: { onTimeout: view.onTimeout === "pause" ? "pause" : "kill", autoResume: view.autoResume },
      };
    },
  };
}

const closed = (egress: EgressPolicy) => ({
  denyOut: ["0.0.0.0/0", ...deniedOf(egress)],
  allowOut: egress.policy === "hosts" ? egress.hosts.map(describeEntry) : [],
});
