import { ArrowDown, ArrowUp, X } from "lucide-react";
import { useState, type KeyboardEvent } from "react";
import { IconButton } from "../parts/icon-button.tsx";
import type { FindDirection } from "./output/buffer-text.ts";
import type { Found, TerminalScreen } from "./terminal-screen.ts";

// Finds text in a terminal. Enter goes up, because the newest output is at the end.
export function FindBar({ terminalScreen, onClose }: { terminalScreen: TerminalScreen; onClose: () => void }) {
  const [text, setText] = useState("");
  const [found, setFound] = useState<Found | null>(null);
  const findNext = (wanted: string, direction: FindDirection) =>
    setFound(wanted === "" ? null : terminalScreen.find(wanted, direction, found));
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Enter") findNext(text, event.shiftKey ? "down" : "up");
    else if (event.key === "Escape") onClose();
    else return;
    event.preventDefault();
  };
  return (
    <div className="find-bar" role="search">
      <input
        autoFocus
        className="field"
        aria-label="Find in the terminal"
        placeholder="Find"
        spellCheck={false}
        value={text}
        onKeyDown={onKeyDown}
        onChange={(event) => {
          setText(event.target.value);
          findNext(event.target.value, "here");
        }}
      />
      <span className="muted" role="status">
        {found && (found.count === 0 ? "No results" : `${found.number} of ${found.count}`)}
      </span>
      <IconButton label="Previous match" onClick={() => findNext(text, "up")}>
        <ArrowUp size={14} />
      </IconButton>
      <IconButton label="Next match" onClick={() => findNext(text, "down")}>
        <ArrowDown size={14} />
      </IconButton>
      <IconButton label="Close find" onClick={onClose}>
        <X size={14} />
      </IconButton>
    </div>
  );
}
