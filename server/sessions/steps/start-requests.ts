import type { SandboxId, Template } from "@berth/contract";
import type { StartRequest } from "@berth/contract/daemon-internal.ts";
import { withModelSettings } from "../../agents/settings.ts";
import type { Secrets } from "../../secrets/secrets.ts";
import { isPartnerSession, type PartnerSession, type Session } from "../../store/sessions/session.ts";
import { joinMcpServers, relayNameOf, type StoredMcpServer } from "../../mcp-servers.ts";
import type { Templates } from "../../templates.ts";
import { openRelays, type SessionRelay } from "../relays/session-relays.ts";
import { templateOf } from "../sandbox-spec.ts";
import type { CreateRequest } from "../sessions.ts";

// The request that a daemon receives when its session starts.
export interface StartRequests {
  startRequest(session: PartnerSession): StartRequest;
  // The request for a warm sandbox that has no session yet.
  blankStartRequest(blank: Session): StartRequest;
}

export interface StartRequestsDeps {
  templates: Templates;
  egress: { issueToken?(holder: { sandboxId: SandboxId; template: string; hasOwnPolicy?: boolean }): string };
  // Variables that let the agent of this sandbox reach a model through the server.
  modelEnv(sandboxId: SandboxId, template: Template): Record<string, string>;
  // The same for the relays of the sandbox.
  relayAccess(sandboxId: SandboxId, template: Template, relays: readonly SessionRelay[]): RelayAccess;
  secrets: Secrets;
}

export interface RelayAccess {
  env: Record<string, string>;
  gitConfig: [key: string, value: string][];
  urlOf(name: string): string;
}

type Wishes = Pick<CreateRequest, "envVars" | "autoStartAgent"> & {
  relays: readonly SessionRelay[];
  mcpServers: readonly StoredMcpServer[];
};

export function createStartRequests({ templates, egress, modelEnv, relayAccess, secrets }: StartRequestsDeps): StartRequests {
  function build(session: Session, { envVars, autoStartAgent, relays, mcpServers: own }: Wishes): StartRequest {
    const { sandboxId } = session;
    const template = templateOf(templates, session);
    const access = relayAccess(sandboxId, template, relays);
    const mcpServers = joinMcpServers(own, template.mcpServers ?? []).map((server) =>
      "url" in server ? { name: server.name, url: access.urlOf(relayNameOf(server.name)) } : server,
    );
    const env = { ...template.env, ...modelEnv(sandboxId, template), ...envVars, ...access.env };
    return {
      env,
      sandboxId,
      agent: template.agent && withModelSettings(template.agent, env),
      fallbackAgents: template.fallbackAgents?.map((agent) => withModelSettings(agent, env)) ?? [],
      autoStartAgent,
      ...(access.gitConfig.length > 0 ? { gitConfig: access.gitConfig } : {}),
      ...(mcpServers.length > 0 ? { mcpServers } : {}),
      ...(template.languageServers ? { languageServers: template.languageServers } : {}),
      ...(egress.issueToken
        ? { egressToken: egress.issueToken({ sandboxId, template: template.name, hasOwnPolicy: hasOwnPolicy(session) }) }
        : {}),
    };
  }

  return {
    startRequest(session) {
      const { sandboxId, sealedEnv, sealedRelays, setup, setupState } = session;
      const envVars = sealedEnv === null ? {} : (JSON.parse(secrets.open(sealedEnv, sandboxId)) as Record<string, string>);
      // The agent starts when the setup is over.
      const autoStartAgent = session.autoStartAgent && setupState === null;
      const relays = openRelays(secrets, sealedRelays, sandboxId);
      return build(session, { envVars, autoStartAgent, relays, mcpServers: setup?.mcpServers ?? [] });
    },
    blankStartRequest: (blank) => build(blank, { envVars: {}, autoStartAgent: false, relays: [], mcpServers: [] }),
  };
}

const hasOwnPolicy = (session: Session): boolean => isPartnerSession(session) && session.egress !== null;

// Whether a session starts exactly as a blank does.
export const isLikeBlank = (session: PartnerSession): boolean =>
  session.sealedEnv === null &&
  session.sealedRelays === null &&
  session.setup?.mcpServers === undefined &&
  !session.autoStartAgent &&
  !hasOwnPolicy(session);
