import type { GitSource, Template } from "@berth/contract";
import type { SessionSetup, SetupState } from "../../store/sessions/session-setup.ts";
import { allowsImage, snapshotOf } from "../sandbox-spec.ts";
import type { SetupRequest } from "../sessions.ts";
import { toStored } from "../../mcp-servers.ts";
import { GIT_RELAY, gitRelayOf, mcpRelayOf, type SessionRelay } from "../relays/session-relays.ts";

export interface NewSetup {
  setup: SessionSetup | null;
  setupState: SetupState | null;
  // These relays include their secrets.
  relays: SessionRelay[];
}

// The setup of a new session, with its secrets apart from the rest. Files of a snapshot have been set up before, so only a command of
// the create itself runs.
export function newSetup(
  { source, files, setup: command, relays = [], mcpServers = [] }: SetupRequest,
  template: Pick<Template, "setup" | "snapshot" | "allowedImages" | "allowBuilds">,
  nowMs: number,
): NewSetup {
  const isSetUp = snapshotOf(files ?? source, template) !== undefined;
  const hasCommand = command !== undefined || (template.setup !== undefined && !isSetUp);
  if (!source && !files && !hasCommand && relays.length === 0 && mcpServers.length === 0)
    return { setup: null, setupState: null, relays: [] };
  const setupState = source ? "source" : hasCommand ? "command" : null;
  return {
    setup: {
      source: source
        ? { git: withoutSecrets(source.git), status: "pending", reason: null }
        : files
          ? { snapshotId: files.snapshotId, ...(files.sessionId && { sessionId: files.sessionId }), status: "ready", reason: null }
          : null,
      command: command ?? null,
      status: setupState ? "pending" : "none",
      exitCode: null,
      // The files of a snapshot have the report of an earlier setup, whose number must be another one.
      attempt: isSetUp ? nowMs : 1,
      relays: relays.map(({ name, upstream, header }) => ({ name, upstream, header })),
      ...(mcpServers.length > 0 && { mcpServers: mcpServers.map(toStored) }),
      ...(files?.image !== undefined && allowsImage(template, files.image) && { image: { name: files.image, status: "used" as const } }),
    },
    setupState,
    relays: [
      ...relays,
      ...mcpServers.flatMap((server) => mcpRelayOf(server, server.value)),
      ...(source?.git.token === undefined ? [] : [gitRelayOf(source.git, source.git.token)]),
    ],
  };
}

// Whether the repository is reached through a relay, because it has a token.
export const hasGitRelay = (relays: readonly SessionRelay[]): boolean => relays.some(({ name }) => name === GIT_RELAY);

function withoutSecrets({ url, ref, depth, path, submodules }: GitSource) {
  return {
    url,
    ...(ref !== undefined && { ref }),
    ...(depth !== undefined && { depth }),
    ...(path !== undefined && { path }),
    ...(submodules !== undefined && { submodules }),
  };
}
