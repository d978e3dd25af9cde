import { KeyRound, PackageX, Sparkles, TriangleAlert } from "lucide-react";
import { useWorkspace, useWorkspaceState } from "../state/context.ts";

// Why there is nothing to talk to, and what can be done about it.
export function AgentStatus() {
  const { agent } = useWorkspace();
  const state = useWorkspaceState("agent", (view) => view.agent);
  if (state === null)
    return (
      <div className="empty" role="status">
        <div className="spinner" />
        <p>Looking for the agent…</p>
      </div>
    );
  if (state.status === "none")
    return (
      <div className="empty">
        <Sparkles size={28} strokeWidth={1.4} />
        <h2>No agent in this workspace</h2>
        <p>This workspace was set up without a coding agent. Files and terminals work as ever.</p>
      </div>
    );
  if (state.status === "unavailable")
    return (
      <div className="empty">
        <PackageX size={28} strokeWidth={1.4} />
        <h2>The agent is not installed here</h2>
        <p>{state.message} The operator can install it, or choose another agent for this workspace. Files and terminals work as ever.</p>
        <button type="button" className="button" onClick={() => void agent.start()}>
          Look again
        </button>
      </div>
    );
  if (state.status === "unconfigured")
    return (
      <div className="empty">
        <KeyRound size={28} strokeWidth={1.4} />
        <h2>The agent has no model yet</h2>
        <p>It starts when the session is created with these variables, or when the operator sets up a model:</p>
        <ul className="variables">
          {state.missing?.map((name) => (
            <li key={name}>
              <code>{name}</code>
            </li>
          ))}
        </ul>
        <p>Until then nothing is sent anywhere. Files and terminals work as ever.</p>
      </div>
    );
  if (state.status !== "failed") return null;
  return (
    <div className="empty" role="alert">
      <TriangleAlert size={28} strokeWidth={1.4} />
      <h2>The agent could not be started</h2>
      <p>{state.message ?? "It ended without saying why."}</p>
      <button type="button" className="button" onClick={() => void agent.start()}>
        Try again
      </button>
    </div>
  );
}
