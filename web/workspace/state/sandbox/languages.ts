import type { FileChange } from "@berth/contract/daemon.ts";
import { createStore } from "zustand/vanilla";

export interface ServerState {
  // The name of the program, or of the language until the program is known.
  name: string;
  status: "starting" | "running" | "failed";
}

export interface Problems {
  errors: number;
  warnings: number;
}

export interface LanguagesState {
  // By language.
  servers: Record<string, ServerState>;
  // By path.
  problems: Record<string, Problems>;
}

export type Languages = ReturnType<typeof createLanguages>;

// The reports of the language servers.
export function createLanguages() {
  const store = createStore<LanguagesState>(() => ({ servers: {}, problems: {} }));
  const listeners = new Set<(changes: readonly FileChange[]) => void>();

  return {
    store,
    // Null removes the server.
    setServer(language: string, server: Partial<ServerState> | null) {
      store.setState(({ servers: { [language]: before, ...servers } }) => {
        if (server === null) return { servers };
        return { servers: { ...servers, [language]: { name: language, status: "starting", ...before, ...server } } };
      });
    },
    setProblems: (path: string, problems: Problems) => store.setState((state) => ({ problems: { ...state.problems, [path]: problems } })),
    // Language servers follow changes on disk through us.
    filesChanged: (changes: readonly FileChange[]) => listeners.forEach((listener) => listener(changes)),
    onFilesChanged: (listener: (changes: readonly FileChange[]) => void) => void listeners.add(listener),
  };
}
