import { KeyRound, PackageX, Sparkles, TriangleAlert } from "lucide-react";
import { useWorkspace, useWorkspaceState } from "../state/context.ts";

// Shown when the agent cannot be used: why, and what to do.
export function AgentStatus() {
  const { agent } = useWorkspace();
  const state = useWorkspaceState("agent", (view) => view.agent);
  if (state === null)
    return (
      <div className="empty" role="status">
        <div className="spinner" />
        <p>Connecting to the agent…</p>
      </div>
    );
  if (state.status === "none")
    return (
      <div className="empty">
        <Sparkles size={28} strokeWidth={1.4} />
        <h2>No agent in this workspace</h2>
        <p>This workspace was set up without a coding agent. You can still use files and terminals.</p>
      </div>
    );
  if (state.status === "unavailable")
    return (
      <div className="empty">
        <PackageX size={28} strokeWidth={1.4} />
        <h2>The agent is not installed here</h2>
        <p>{state.message} The operator can install it or choose another agent. You can still use files and terminals.</p>
        <button type="button" className="button" onClick={() => void agent.start()}>
          Check again
        </button>
      </div>
    );
  if (state.status === "unconfigured")
    return (
      <div className="empty">
        <KeyRound size={28} strokeWidth={1.4} />
        <h2>The agent has no model yet</h2>
        <p>To use the agent, the operator must set up a model, or the session must be created with these variables:</p>
        <ul className="variables">
          {state.missing?.map((variable) => (
            <li key={variable}>
              <code>{variable}</code>
            </li>
          ))}
        </ul>
        <p>Until then nothing is sent to a model. You can still use files and terminals.</p>
      </div>
    );
  if (state.status !== "failed") return null;
  return (
    <div className="empty" role="alert">
      <TriangleAlert size={28} strokeWidth={1.4} />
      <h2>The agent could not start</h2>
      <p>{state.message ?? "It exited without an error message."}</p>
      <button type="button" className="button" onClick={() => void agent.start()}>
        Try again
      </button>
    </div>
  );
}
