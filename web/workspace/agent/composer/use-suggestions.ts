import { useEffect, useState } from "react";
import type { SlashCommand } from "@berth/contract/agent.ts";
import { useSandbox } from "../../state/context.ts";
import { nameOf, parentOf } from "../../text/paths.ts";
import { mentionAt, type Mention } from "./mention.ts";

export interface Suggestion {
  // The word in the message.
  word: string;
  label: string;
  detail: string;
  // The file that the message refers to.
  path?: string;
}

const MAX_SHOWN = 8;
const DEBOUNCE_MS = 60;

// The suggestions for the word at the caret.
export function useSuggestions(
  text: string,
  caret: number,
  commands: SlashCommand[],
): { mention: Mention | null; suggestions: Suggestion[] } {
  const { api } = useSandbox();
  const mention = mentionAt(text, caret);
  const query = mention?.kind === "file" ? mention.query : null;
  const [found, setFound] = useState<string[]>([]);
  useEffect(() => {
    if (query === null) return setFound([]);
    let cancelled = false;
    const timer = setTimeout(() => {
      api.findFiles(query, MAX_SHOWN).then(
        ({ paths }) => !cancelled && setFound(paths),
        () => {},
      );
    }, DEBOUNCE_MS);
    return () => {
      cancelled = true;
      clearTimeout(timer);
    };
  }, [api, query]);
  if (mention === null) return { mention, suggestions: [] };
  if (mention.kind === "file") return { mention, suggestions: found.map(fileSuggestion) };
  const matching = commands.filter(({ name }) => name.toLowerCase().includes(mention.query.toLowerCase()));
  return { mention, suggestions: matching.slice(0, MAX_SHOWN).map(commandSuggestion) };
}

const fileSuggestion = (path: string): Suggestion => ({ word: `@${path}`, label: nameOf(path), detail: parentOf(path), path });

const commandSuggestion = ({ name, description, hint }: SlashCommand): Suggestion => ({
  word: `/${name}`,
  label: `/${name}${hint ? ` ${hint}` : ""}`,
  detail: description,
});
