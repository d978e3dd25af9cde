import { useEffect, useRef } from "react";
import { FileIcon } from "../../parts/file-icon.tsx";
import type { Suggestion } from "./use-suggestions.ts";

export interface SuggestionListProps {
  id: string;
  suggestions: Suggestion[];
  active: number;
  onChoose: (suggestion: Suggestion) => void;
}

export const optionId = (listId: string, index: number): string => `${listId}-${index}`;

// Files or commands above the message box, which keeps the keyboard focus.
export function SuggestionList({ id, suggestions, active, onChoose }: SuggestionListProps) {
  const list = useRef<HTMLUListElement>(null);
  useEffect(() => {
    // Its result is a promise in newer browsers, which React would take for a clean-up function.
    list.current?.children[active]?.scrollIntoView({ block: "nearest" });
  }, [active]);
  return (
    <ul ref={list} id={id} className="suggestions" role="listbox" aria-label="Suggestions">
      {suggestions.map((suggestion, index) => (
        <li
          key={suggestion.word}
          id={optionId(id, index)}
          role="option"
          aria-selected={index === active}
          // The message box must not lose the focus.
          onMouseDown={(event) => event.preventDefault()}
          onClick={() => onChoose(suggestion)}
        >
          {suggestion.path !== undefined && <FileIcon path={suggestion.path} />}
          <span className="name">{suggestion.label}</span>
          <span className="where truncate">{suggestion.detail}</span>
        </li>
      ))}
    </ul>
  );
}
