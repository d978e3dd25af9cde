import { useCallback, useEffect, useRef, useState } from "react";
import { queryText, type Query } from "./api.ts";
import { useConsole } from "./context.ts";

export interface Data<Result> {
  // undefined until the first answer.
  data: Result | undefined;
  // The last failure; null after a success.
  error: string | null;
  reload: () => Promise<void>;
}

// Reads from the server, again whenever the query changes and, with `everyMs`, periodically while the page is visible.
export function useData<Result>(path: string, query: Query = {}, { everyMs }: { everyMs?: number } = {}): Data<Result> {
  const { api } = useConsole();
  const key = `${path}${queryText(query)}`;
  const [state, setState] = useState<{ key: string; data?: Result; error: string | null }>({ key, error: null });
  const current = useRef(key);
  current.current = key;

  const reload = useCallback(async () => {
    try {
      const data = await api.get<Result>(key);
      if (current.current === key) setState({ key, data, error: null });
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      if (current.current === key) setState((before) => ({ ...(before.key === key ? before : { key }), error: message }));
    }
  }, [api, key]);

  useEffect(() => void reload(), [reload]);
  useInterval(reload, everyMs);
  return { data: state.key === key ? state.data : undefined, error: state.key === key ? state.error : null, reload };
}

// The next call starts `everyMs` after the end of the last one. Nothing runs while the page is hidden.
export function useInterval(work: () => Promise<void>, everyMs: number | undefined): void {
  useEffect(() => {
    if (everyMs === undefined) return;
    let timer: ReturnType<typeof setTimeout>;
    let isOver = false;
    const run = async () => {
      if (document.visibilityState === "visible") await work();
      if (!isOver) timer = setTimeout(() => void run(), everyMs);
    };
    timer = setTimeout(() => void run(), everyMs);
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [work, everyMs]);
}
