import { ArrowUp, Square } from "lucide-react";
import { useEffect, type FormEvent, type KeyboardEvent } from "react";
import type { Conversation } from "@berth/contract/agent.ts";
import { useWorkspace, useWorkspaceState } from "../state/context.ts";
import { readable } from "../text/humanize.ts";
import { describeUsage } from "./usage.ts";

export function Composer({ disabled }: { disabled: boolean }) {
  const { agent, layout } = useWorkspace();
  const text = useWorkspaceState("layout", (state) => state.prompt);
  const setText = (prompt: string) => layout.set({ prompt });
  const { conversations, current, asking, refusal, online, agent: state } = useWorkspaceState("agent", (view) => view);
  const conversation = conversations.find(({ id }) => id === current);
  const busy = asking !== null || conversation?.busy === true;
  const returned = useWorkspaceState("agent", (view) => view.returned);
  useEffect(() => {
    if (returned === null) return;
    agent.takeReturned();
    layout.set(({ prompt }) => ({ prompt: prompt === "" ? returned : prompt }));
  }, [agent, layout, returned]);
  const canSend = !disabled && !busy && online && text.trim() !== "";

  const send = () => {
    if (canSend && agent.prompt(text.trim())) setText("");
  };
  const onSubmit = (event: FormEvent) => {
    event.preventDefault();
    send();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    // Enter that ends the composition of a character is not meant to send.
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    send();
  };

  return (
    <form className="composer" onSubmit={onSubmit}>
      {refusal && (
        <p className="refusal" role="alert">
          {refusal}
        </p>
      )}
      <div className="box">
        <textarea
          aria-label="Message to the agent"
          placeholder={disabled ? "The agent is not available" : "Ask for a change, or about the code"}
          rows={3}
          disabled={disabled}
          value={text}
          onKeyDown={onKeyDown}
          onChange={(event) => setText(event.target.value)}
        />
        <div className="under">
          {conversation && <ModeChoice conversation={conversation} />}
          <span className="grow truncate muted">
            {state?.status === "starting" ? "The agent is starting…" : describeUsage(conversation?.usage ?? null)}
          </span>
          {busy && current !== null ? (
            <button type="button" className="round" aria-label="Stop" title="Stop" onClick={() => agent.cancel(current)}>
              <Square size={13} fill="currentColor" />
            </button>
          ) : (
            <button type="submit" className="round" aria-label="Send" title="Send" disabled={!canSend}>
              <ArrowUp size={16} />
            </button>
          )}
        </div>
      </div>
    </form>
  );
}

function ModeChoice({ conversation: { id, modes } }: { conversation: Conversation }) {
  const { agent } = useWorkspace();
  if (modes === null || modes.available.length < 2) return null;
  return (
    <select aria-label="How the agent works" value={modes.current} onChange={(event) => agent.setMode(id, event.target.value)}>
      {modes.available.map((mode) => (
        <option key={mode.id} value={mode.id} title={mode.description}>
          {readable(mode.name)}
        </option>
      ))}
    </select>
  );
}
