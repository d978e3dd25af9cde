import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { CONSOLE_PAGE_ROWS, type ConsoleList, type ConsoleSession } from "@berth/contract/console.ts";
import { queryText, type Query } from "../connection/api.ts";
import { useConsole } from "../connection/context.ts";
import { useInterval } from "../connection/use-data.ts";
import { mergeRows } from "./merge-rows.ts";

export interface SessionRows {
  rows: readonly ConsoleSession[];
  hasMore: boolean;
  error: string | null;
  // Reads the next page, unless it is being read. After a failure only the next refresh tries again.
  loadMore: () => void;
}

const REFRESH_MS = 3000;

interface State {
  rows: readonly ConsoleSession[];
  // undefined before the first page, null after the last.
  cursor: string | null | undefined;
  error: string | null;
}

const NOTHING: State = { rows: [], cursor: undefined, error: null };

// The sessions that match a filter, as far as they were scrolled to. Every few seconds new ones are added at the top, and those on the
// screen are read again. A session that no longer matches stays in its place until the filter changes.
export function useSessionRows(filter: Query, visibleIds: () => string[]): SessionRows {
  const { api } = useConsole();
  const key = queryText(filter);
  const query = useMemo(() => Object.fromEntries(new URLSearchParams(key)), [key]);
  const [state, setState] = useState<State>(NOTHING);
  const reading = useRef<AbortController | null>(null);
  const now = useRef(state);
  now.current = state;

  const readNext = useCallback(() => {
    const { cursor } = now.current;
    if (reading.current || cursor === null) return;
    const controller = (reading.current = new AbortController());
    api.get<ConsoleList<ConsoleSession>>("/sessions", { ...query, cursor }, controller.signal).then(
      ({ data, nextCursor }) => {
        reading.current = null;
        setState(({ rows }) => ({ rows: [...rows, ...withoutKnown(rows, data)], cursor: nextCursor, error: null }));
      },
      (error: Error) => {
        if (controller.signal.aborted) return;
        reading.current = null;
        setState((before) => ({ ...before, error: error.message }));
      },
    );
  }, [api, query]);
  const loadMore = useCallback(() => {
    if (now.current.error === null) readNext();
  }, [readNext]);

  useEffect(() => {
    now.current = NOTHING;
    setState(NOTHING);
    readNext();
    return () => {
      reading.current?.abort();
      reading.current = null;
    };
  }, [readNext]);

  const refresh = useCallback(async () => {
    if (now.current.cursor === undefined) return readNext();
    try {
      const ids = visibleIds().slice(0, CONSOLE_PAGE_ROWS).join(",");
      const [head, shown] = await Promise.all([
        api.get<ConsoleList<ConsoleSession>>("/sessions", query),
        ids ? api.get<ConsoleList<ConsoleSession>>("/sessions", { partner: query["partner"], ids }) : null,
      ]);
      setState((before) => ({ ...before, rows: mergeRows(before.rows, head.data, shown?.data ?? []), error: null }));
    } catch (error) {
      setState((before) => ({ ...before, error: error instanceof Error ? error.message : String(error) }));
    }
  }, [api, query, readNext, visibleIds]);
  useInterval(refresh, REFRESH_MS);

  return { rows: state.rows, hasMore: state.cursor !== null, error: state.error, loadMore };
}

function withoutKnown(rows: readonly ConsoleSession[], page: readonly ConsoleSession[]): ConsoleSession[] {
  const known = new Set(rows.slice(-2 * CONSOLE_PAGE_ROWS).map(({ id }) => id));
  return page.filter(({ id }) => !known.has(id));
}
