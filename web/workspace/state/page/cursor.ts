import { createStore } from "zustand/vanilla";

// A place in a file, counted from 1.
export interface Place {
  line: number;
  column: number;
  length?: number;
}

export interface CursorState {
  // Where the caret is in the active editor, and its language: for the status bar.
  position: string | null;
  language: string | null;
  // A place that an editor is asked to go to.
  wanted: ({ path: string } & Place) | null;
  // A file whose editor should have the keyboard, because the person has just asked for it.
  focus: string | null;
}

export type Cursor = ReturnType<typeof createCursor>;

export function createCursor() {
  const store = createStore<CursorState>(() => ({ position: null, language: null, wanted: null, focus: null }));
  return {
    store,
    at: (position: string | null) => store.setState({ position }),
    in: (language: string | null) => store.setState({ language }),
    reveal: (wanted: CursorState["wanted"]) => store.setState({ wanted }),
    focus: (path: string) => store.setState({ focus: path }),
    takeFocus(path: string): boolean {
      const wished = store.getState().focus === path;
      if (wished) store.setState({ focus: null });
      return wished;
    },
    // The wish for this file, once.
    take(path: string): Place | null {
      const { wanted } = store.getState();
      if (wanted?.path !== path) return null;
      store.setState({ wanted: null });
      return wanted;
    },
  };
}
