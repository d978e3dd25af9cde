import { Sparkles, TriangleAlert } from "lucide-react";
import { useSession } from "../state/context.ts";
import { useAgent, useAgentState } from "../state/use-agent.ts";

// Shown when the agent cannot be used. The reasons are for operators: `berth doctor` and GET /agent name them.
export function AgentStatus() {
  const agent = useAgent();
  const { mayEdit } = useSession();
  const state = useAgentState((view) => view.agent);
  if (state === null)
    return (
      <div className="empty" role="status">
        <div className="spinner" />
        <p>Connecting to the agent…</p>
      </div>
    );
  if (state.status === "none" || state.status === "unavailable" || state.status === "unconfigured")
    return (
      <div className="empty">
        <Sparkles size={28} strokeWidth={1.4} />
        <h2>The assistant is not available here</h2>
        <p>You can use files, terminals and everything else as usual.</p>
      </div>
    );
  if (state.status !== "failed") return null;
  return (
    <div className="empty" role="alert">
      <TriangleAlert size={28} strokeWidth={1.4} />
      <h2>The agent could not start</h2>
      <p>{state.message ?? "It exited without an error message."}</p>
      {mayEdit && (
        <button type="button" className="button" onClick={() => void agent.start()}>
          Try again
        </button>
      )}
    </div>
  );
}
