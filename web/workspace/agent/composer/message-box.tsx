import { useId, useState, type ClipboardEvent, type KeyboardEvent, type Ref } from "react";
import type { SlashCommand } from "@berth/contract/agent.ts";
import { useAgent } from "../../state/use-agent.ts";
import { complete } from "./mention.ts";
import { optionId, SuggestionList } from "./suggestion-list.tsx";
import { type Suggestion, useSuggestions } from "./use-suggestions.ts";

export interface MessageBoxProps {
  ref: Ref<HTMLTextAreaElement>;
  disabled: boolean;
  text: string;
  commands: SlashCommand[];
  onText: (text: string) => void;
  onSend: () => void;
  // null if the agent does not accept images.
  onImages: ((files: Iterable<Blob>) => void) | null;
}

// The text of a message. `@` suggests files, and `/` commands of the agent.
export function MessageBox({ ref, disabled, text, commands, onText, onSend, onImages }: MessageBoxProps) {
  const agent = useAgent();
  const listId = useId();
  const [caret, setCaret] = useState(text.length);
  const [active, setActive] = useState(0);
  const [dismissed, setDismissed] = useState<string | null>(null);
  const { mention, suggestions } = useSuggestions(text, caret, commands);
  const isOpen = mention !== null && suggestions.length > 0 && dismissed !== text;
  const chosen = suggestions[Math.min(active, suggestions.length - 1)];

  const choose = ({ word, path }: Suggestion, field: HTMLTextAreaElement | null) => {
    if (mention === null) return;
    const next = complete(text, caret, mention, word);
    onText(next.text);
    setCaret(next.caret);
    setActive(0);
    if (path !== undefined) agent.attach({ path });
    // The caret moves when the new text is there.
    requestAnimationFrame(() => field?.setSelectionRange(next.caret, next.caret));
  };

  const onKeyDown = (event: KeyboardEvent<HTMLTextAreaElement>) => {
    // While an input method is composing text, keys belong to it.
    if (event.nativeEvent.isComposing) return;
    if (isOpen && chosen) {
      const moves: Record<string, number> = { ArrowDown: 1, ArrowUp: -1 };
      const move = moves[event.key];
      if (move !== undefined) setActive((active + move + suggestions.length) % suggestions.length);
      else if (event.key === "Enter" || event.key === "Tab") choose(chosen, event.currentTarget);
      else if (event.key === "Escape") setDismissed(text);
      else return;
      return event.preventDefault();
    }
    if (event.key !== "Enter" || event.shiftKey) return;
    event.preventDefault();
    onSend();
  };

  const onPaste = (event: ClipboardEvent) => {
    const images = [...event.clipboardData.files].filter(({ type }) => type.startsWith("image/"));
    if (images.length === 0 || onImages === null) return;
    event.preventDefault();
    onImages(images);
  };

  return (
    <div className="message">
      {isOpen && (
        <SuggestionList
          id={listId}
          suggestions={suggestions}
          active={active}
          onChoose={(suggestion) =>
            choose(suggestion, document.activeElement instanceof HTMLTextAreaElement ? document.activeElement : null)
          }
        />
      )}
      <textarea
        ref={ref}
        aria-label="Message to the agent"
        aria-autocomplete="list"
        {...(isOpen ? { "aria-controls": listId, "aria-activedescendant": optionId(listId, active) } : {})}
        placeholder={disabled ? "The agent is not available" : "Ask for a change or about the code. @ for files, / for commands"}
        rows={3}
        disabled={disabled}
        value={text}
        onKeyDown={onKeyDown}
        onPaste={onPaste}
        onSelect={({ currentTarget }) => setCaret(currentTarget.selectionEnd)}
        onChange={({ target }) => {
          onText(target.value);
          setCaret(target.selectionEnd);
          setActive(0);
        }}
      />
    </div>
  );
}
