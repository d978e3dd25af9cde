import { useCallback, useEffect, useMemo, useState } from "react";
import { afterFirstText } from "../browser/first-text.ts";
import { loadModule } from "../browser/load-module.ts";
import { usePage, useSandbox, useSession } from "../state/context.ts";
import { useActions } from "../actions/actions.ts";
import type { Command } from "./commands/command.ts";
import { paletteCommands } from "./commands/palette-commands.ts";

export interface LoadedCommands {
  // Only those of the palette until the others are loaded.
  list: Command[];
  isComplete: boolean;
  // Does not wait for the first text.
  loadNow: () => void;
}

// The first screen needs no commands but those of the palette, so the others load behind the first text or when they are needed.
export function useCommands(): LoadedCommands {
  const [page, sandbox, session, actions] = [usePage(), useSandbox(), useSession(), useActions()];
  const first = useMemo(() => paletteCommands(page), [page]);
  const [all, setAll] = useState<Command[] | null>(null);
  const loadNow = useCallback(() => {
    void loadModule(() => import("./commands/commands.ts")).then(({ createCommands }) =>
      setAll((known) => known ?? createCommands(page, sandbox, session, actions)),
    );
  }, [page, sandbox, session, actions]);
  useEffect(() => void afterFirstText().then(loadNow), [loadNow]);
  return { list: all ?? first, isComplete: all !== null, loadNow };
}
