import { Search } from "lucide-react";
import type { ReactNode } from "react";

interface Props {
  label: string;
  placeholder: string;
  query: string;
  onQuery: (query: string) => void;
  children?: ReactNode;
}

// The head of a page of settings: a field for searching, and buttons.
export function SettingsHead({ label, placeholder, query, onQuery, children }: Props) {
  return (
    <div className="settings-head">
      <div className="settings-search">
        <Search size={14} />
        <input
          className="field"
          type="search"
          aria-label={label}
          placeholder={placeholder}
          spellCheck={false}
          value={query}
          onChange={(event) => onQuery(event.target.value)}
        />
      </div>
      {children}
    </div>
  );
}

// Whether the text contains every word of the query.
export function isFound(text: string, query: string): boolean {
  const lower = text.toLowerCase();
  return query
    .toLowerCase()
    .split(/\s+/)
    .every((word) => lower.includes(word));
}
