import { ArrowUp, Square } from "lucide-react";
import { useEffect, type FormEvent, type KeyboardEvent } from "react";
import type { Conversation } from "@berth/contract/agent.ts";
import { useWorkspace, useWorkspaceState } from "../state/context.ts";
import { humanize } from "../text/humanize.ts";
import { describeUsage } from "./usage.ts";

export function Composer({ disabled }: { disabled: boolean }) {
  const { agent, layout } = useWorkspace();
  const text = useWorkspaceState("layout", ({ prompt: unsent }) => unsent);
  const setText = (unsent: string) => layout.set({ prompt: unsent });
  const view = useWorkspaceState("agent", (whole) => whole);
  const { current, refusal, returnedPrompt } = view;
  const conversation = view.conversations.find(({ id }) => id === current);
  const busy = view.pendingPrompt !== null || conversation?.busy === true;
  useEffect(() => {
    if (returnedPrompt === null) return;
    agent.clearReturnedPrompt();
    layout.set(({ prompt: unsent }) => ({ prompt: unsent === "" ? returnedPrompt : unsent }));
  }, [agent, layout, returnedPrompt]);
  const canSend = !disabled && !busy && view.online && text.trim() !== "";

  const send = () => {
    if (canSend && agent.prompt(text.trim())) setText("");
  };
  const onSubmit = (event: FormEvent) => {
    event.preventDefault();
    send();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    // While an input method is composing text, Enter only confirms the composition.
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
          placeholder={disabled ? "The agent is not available" : "Ask for a change or about the code"}
          rows={3}
          disabled={disabled}
          value={text}
          onKeyDown={onKeyDown}
          onChange={(event) => setText(event.target.value)}
        />
        <div className="under">
          {conversation && <ModeChoice conversation={conversation} />}
          <span className="grow truncate muted">
            {view.agent?.status === "starting" ? "The agent is starting…" : describeUsage(conversation?.usage ?? null)}
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
    <select aria-label="Agent mode" value={modes.current} onChange={(event) => agent.setMode(id, event.target.value)}>
      {modes.available.map((mode) => (
        <option key={mode.id} value={mode.id} title={mode.description}>
          {humanize(mode.name)}
        </option>
      ))}
    </select>
  );
}
