import type { StoredMcpServer } from "../../mcp-servers.ts";
import type { GitSource as NamedGitSource, RelayRead, SnapshotId, SourceStatus } from "@berth/contract";

// How the files of a session come into its sandbox, and the command that runs then. Stored as JSON in `sessions.setup`, without
// secrets.
export interface SessionSetup {
  // null: the session starts with an empty workspace.
  source: SetupSource | null;
  // The command of the create. null: that of the repository or of the template, if there is one.
  command: string | null;
  // `none`: there was no command.
  status: "pending" | "finished" | "none";
  exitCode: number | null;
  // Counts the tries. The daemon works on each of them once.
  attempt: number;
  relays: RelayRead[];
  // Absent: the create named none.
  mcpServers?: StoredMcpServer[];
  // The image of the repository's devcontainer.json. Absent: it names none that the template allows.
  image?: SetupImage;
}

// `pending`: no sandbox has been started in it yet.
export interface SetupImage {
  name: string;
  status: "pending" | "used" | "failed";
  // Why it has failed, for people. Absent: only the server's log says more.
  reason?: string | undefined;
}

// A repository, or the files of a snapshot. A fork has the snapshot that exists while it is created, and the session.
export type SetupSource = ({ git: GitSource } | { git?: undefined; snapshotId: SnapshotId; sessionId?: string }) & {
  status: SourceStatus;
  reason: string | null;
};

export type GitSource = Omit<NamedGitSource, "username" | "token">;

// The part that is left to do: everything, or only the command.
export type SetupState = "source" | "command";

export const parseSetup = (json: string | null): SessionSetup | null => (json === null ? null : (JSON.parse(json) as SessionSetup));

export const setupColumns = (owner: { setup: SessionSetup | null; setupState: SetupState | null } | null) => ({
  setup: owner?.setup ? JSON.stringify(owner.setup) : null,
  setup_state: owner?.setupState ?? null,
});
