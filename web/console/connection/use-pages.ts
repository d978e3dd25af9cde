import { useCallback, useEffect, useState } from "react";
import type { ConsoleList } from "@berth/contract/console.ts";
import { queryText, type Query } from "./api.ts";
import { useConsole } from "./context.ts";

export interface Pages<Row> {
  // undefined until the first answer.
  rows: readonly Row[] | undefined;
  error: string | null;
  // Reads the next page; null at the end.
  more: (() => void) | null;
  reload: () => void;
}

interface State<Row> {
  key: string;
  rows?: readonly Row[];
  cursor: string | null;
  error: string | null;
}

// A list that is read page by page, when the person asks for more.
export function usePages<Row>(path: string, query: Query = {}): Pages<Row> {
  const { api } = useConsole();
  const key = `${path}${queryText(query)}`;
  const [state, setState] = useState<State<Row>>({ key, cursor: null, error: null });

  const read = useCallback(
    (cursor: string | null) => {
      const [plain = "", text = ""] = key.split("?");
      api.get<ConsoleList<Row>>(plain, { ...Object.fromEntries(new URLSearchParams(text)), cursor }).then(
        ({ data, nextCursor }) =>
          setState((before) => {
            const earlier = cursor !== null && before.key === key ? (before.rows ?? []) : [];
            return { key, rows: [...earlier, ...data], cursor: nextCursor, error: null };
          }),
        (error: Error) => setState((before) => ({ ...before, key, error: error.message })),
      );
    },
    [api, key],
  );
  useEffect(() => read(null), [read]);

  const isCurrent = state.key === key;
  return {
    rows: isCurrent ? state.rows : undefined,
    error: isCurrent ? state.error : null,
    more: isCurrent && state.cursor !== null ? () => read(state.cursor) : null,
    reload: () => read(null),
  };
}
