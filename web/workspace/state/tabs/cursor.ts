import { createStore } from "zustand/vanilla";

// A location in a file. Lines and columns count from 1.
export interface TextLocation {
  line: number;
  column: number;
  // How many characters to select.
  length?: number;
}

export interface CursorState {
  // Position and language of the active editor, for the status bar.
  position: string | null;
  language: string | null;
  // The text that is selected there, if it is short and within one line.
  selectedText: string | null;
  // A location that an editor is requested to show.
  reveal: ({ path: string } & TextLocation) | null;
  // A file whose editor is requested to take the keyboard focus.
  focusPath: string | null;
  // A heading that the preview of a Markdown file is requested to show.
  anchor: { path: string; anchor: string } | null;
}

export function createCursor() {
  const store = createStore<CursorState>(() => ({
    position: null,
    language: null,
    selectedText: null,
    reveal: null,
    focusPath: null,
    anchor: null,
  }));
  return {
    store,
    setPosition: (position: string | null, selectedText: string | null = null) => store.setState({ position, selectedText }),
    setLanguage: (language: string | null) => store.setState({ language }),
    reveal: (reveal: CursorState["reveal"]) => store.setState({ reveal }),
    requestFocus: (path: string) => store.setState({ focusPath: path }),
    requestAnchor: (anchor: CursorState["anchor"]) => store.setState({ anchor }),
    // Returns the heading requested in this file, and clears the request.
    takeAnchor(path: string): string | null {
      const { anchor } = store.getState();
      if (anchor?.path !== path) return null;
      store.setState({ anchor: null });
      return anchor.anchor;
    },
    // Returns whether focus was requested for this file, and clears the request.
    takeFocus(path: string): boolean {
      const requested = store.getState().focusPath === path;
      if (requested) store.setState({ focusPath: null });
      return requested;
    },
    // Returns the location requested in this file, and clears the request.
    takeReveal(path: string): TextLocation | null {
      const { reveal } = store.getState();
      if (reveal?.path !== path) return null;
      store.setState({ reveal: null });
      return reveal;
    },
  };
}
