import { KeyRound, Sparkles, TriangleAlert } from "lucide-react";
import type { AgentSignIn } from "@berth/contract/daemon.ts";
import { usePage, useSandbox, useSession } from "../state/context.ts";
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
  if (state.status === "unconfigured" && state.signIn && mayEdit) return <SignIn methods={state.signIn} message={state.message} />;
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

// The agent asks for a sign-in, which happens in a terminal.
function SignIn({ methods, message }: { methods: AgentSignIn[]; message: string | undefined }) {
  const agent = useAgent();
  const { layout } = usePage();
  const { terminals } = useSandbox();
  const signIn = async (methodId: string) => {
    const terminalId = await agent.signIn(methodId);
    if (terminalId === null) return;
    layout.show("terminalsOpen");
    terminals.show(terminalId);
  };
  return (
    <div className="empty">
      <KeyRound size={28} strokeWidth={1.4} />
      <h2>Sign in to use the agent</h2>
      <p role="status">{message}</p>
      <p>The sign-in opens in a terminal. The agent starts when you are done there.</p>
      {methods.map(({ id, name, description }) => (
        <button key={id} type="button" className="button" title={description} onClick={() => void signIn(id)}>
          {name}
        </button>
      ))}
    </div>
  );
}
