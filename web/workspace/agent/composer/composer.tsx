import { ArrowUp, ImagePlus, ListEnd, Square } from "lucide-react";
import { useEffect, useRef, type FormEvent } from "react";
import { usePage, usePageState } from "../../state/context.ts";
import { useAgent, useAgentState } from "../../state/use-agent.ts";
import { Attachments } from "./attachments.tsx";
import { Choices } from "./choices.tsx";
import { EditingNote } from "./editing-note.tsx";
import { MessageBox } from "./message-box.tsx";
import { OptionMenu } from "./option-menu.tsx";
import { AllowedTools, QueueList } from "./queue-list.tsx";
import { McpList } from "./mcp-list.tsx";
import { RuleList } from "./rule-list.tsx";
import { scaleImage } from "./scale-image.ts";
import { describeUsage } from "./usage.ts";

export function Composer({ disabled }: { disabled: boolean }) {
  const agent = useAgent();
  const { layout, notices, focusRequest } = usePage();
  const text = usePageState("layout", ({ prompt: unsent }) => unsent);
  const setText = (unsent: string) => layout.set({ prompt: unsent });
  const view = useAgentState((whole) => whole);
  const { current, refusal, returnedPrompt, editing } = view;
  const box = useRef<HTMLTextAreaElement>(null);
  const conversation = view.conversations.find(({ id }) => id === current);
  const busy = conversation?.busy === true;
  const acceptsImages = view.agent?.acceptsImages === true;
  useEffect(() => {
    if (returnedPrompt === null) return;
    const isEdited = editing !== null;
    const { prompt: unsent } = layout.store.getState();
    // Text that the person has written meanwhile stays.
    if (unsent !== "" && !isEdited) return agent.dropReturnedPrompt();
    layout.set({ prompt: agent.takeReturnedPrompt()?.text ?? "" });
    if (isEdited) box.current?.focus();
  }, [agent, layout, returnedPrompt, editing]);
  const focusRequested = usePageState("focusRequest", (state) => state.target === "agent");
  useEffect(() => {
    if (!focusRequested || disabled) return;
    box.current?.focus();
    focusRequest.clear();
  }, [focusRequest, focusRequested, disabled]);
  const canSend = !disabled && view.pendingPrompt === null && view.online && text.trim() !== "";

  const send = () => {
    if (canSend && agent.prompt(text.trim())) setText("");
  };
  const onSubmit = (event: FormEvent) => {
    event.preventDefault();
    send();
  };
  const attachImages = (files: Iterable<Blob>) => {
    for (const file of files) void notices.attempt("Could not attach the image", async () => agent.attachImage(await scaleImage(file)));
  };
  const cancelEditing = () => {
    agent.setEditing(null);
    setText("");
  };

  return (
    <form className="composer" onSubmit={onSubmit}>
      {refusal && (
        <p className="refusal" role="alert">
          {refusal}
        </p>
      )}
      <McpList />
      {conversation && <RuleList conversation={conversation} />}
      {conversation && <AllowedTools conversation={conversation} />}
      {conversation && <QueueList conversation={conversation} />}
      <EditingNote onCancel={cancelEditing} />
      <div className="box">
        {!disabled && <Attachments />}
        <MessageBox
          ref={box}
          disabled={disabled}
          text={text}
          commands={conversation?.commands ?? []}
          onText={setText}
          onSend={send}
          onImages={acceptsImages ? attachImages : null}
        />
        <div className="under">
          {acceptsImages && <ImageButton onImages={attachImages} />}
          {conversation && <Choices conversation={conversation} />}
          {conversation && <OptionMenu conversation={conversation} />}
          <span className="grow truncate muted">
            {view.agent?.status === "starting" ? "The agent is starting…" : describeUsage(conversation?.usage ?? null)}
          </span>
          {busy && current !== null && (
            <button type="button" className="round" aria-label="Stop" title="Stop" onClick={() => agent.cancel(current)}>
              <Square size={13} fill="currentColor" />
            </button>
          )}
          {busy ? (
            canSend && (
              <button type="submit" className="round" aria-label="Queue" title="Send when the agent is done">
                <ListEnd size={16} />
              </button>
            )
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

function ImageButton({ onImages }: { onImages: (files: Iterable<Blob>) => void }) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <button type="button" className="icon-button" aria-label="Attach image" title="Attach image" onClick={() => input.current?.click()}>
        <ImagePlus size={15} />
      </button>
      <input
        ref={input}
        type="file"
        accept="image/*"
        multiple
        hidden
        aria-label="Images"
        onChange={({ currentTarget }) => {
          onImages([...(currentTarget.files ?? [])]);
          // The same file can be chosen again.
          currentTarget.value = "";
        }}
      />
    </>
  );
}
