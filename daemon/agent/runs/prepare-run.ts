import type { Run } from "@berth/contract/daemon/runs.ts";
import { AppError } from "@berth/contract/errors.ts";
import type { AgentSessions } from "../agent-sessions/agent-sessions.ts";
import type { AgentConnection } from "../program/connection.ts";
import type { Thread } from "../thread.ts";

export interface PrepareDeps {
  sessions: Pick<AgentSessions, "setMode" | "setModel">;
  // Of the agent in use. undefined if they are not known.
  askingModes: () => string[] | undefined;
}

// Chooses the mode and the model before each turn of a run, because a person may have chosen others in the meantime. Returns the mode in
// which the agent must stay, so that it asks; null if it need not ask.
export async function prepareRun(
  { mode, model, permissions }: Run,
  thread: Thread,
  connection: AgentConnection,
  { sessions, askingModes }: PrepareDeps,
): Promise<string | null> {
  const mustAsk = permissions !== "allow";
  const wanted = mode ?? (mustAsk ? askingModes()?.[0] : undefined);
  const { modes } = thread.live.head;
  if (mustAsk && wanted === undefined)
    throw new AppError("run_never_asks", {
      message: 'It is not known in which mode this agent asks for permission. Name one as the "mode" of the run, or use "allow".',
    });
  if (mustAsk && mode === null && !modes?.available.some(({ id }) => id === wanted))
    throw new AppError("run_never_asks", { message: `The agent does not offer the mode ${wanted}, in which it asks for permission.` });
  if (wanted !== undefined && modes?.current !== wanted) await sessions.setMode(thread, connection, wanted);
  if (model !== null && thread.live.head.models?.current !== model) await sessions.setModel(thread, connection, model);
  return mustAsk ? (wanted ?? null) : null;
}
