import type { FileChange } from "@berth/contract/daemon.ts";
import { createStore } from "zustand/vanilla";

export interface ServerState {
  // The name of the program, or of the language until the program is known.
  name: string;
  status: "starting" | "running" | "failed";
}

export interface Problem {
  severity: "error" | "warning" | "info";
  message: string;
  // The tool that found it, with the number of the rule: "ts 2322".
  source: string | null;
  // From 1.
  line: number;
  column: number;
}

export interface LanguagesState {
  // By language.
  servers: Record<string, ServerState>;
  // By path, for all files that a server has reported on.
  problems: Record<string, readonly Problem[]>;
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
    setProblems: (path: string, problems: readonly Problem[]) =>
      store.setState((state) => ({ problems: { ...state.problems, [path]: problems } })),
    // No server knows the file any more.
    forgetProblems: (path: string) => store.setState(({ problems: { [path]: _forgotten, ...problems } }) => ({ problems })),
    // Language servers follow changes on disk through us.
    filesChanged: (changes: readonly FileChange[]) => listeners.forEach((listener) => listener(changes)),
    onFilesChanged: (listener: (changes: readonly FileChange[]) => void) => void listeners.add(listener),
  };
}

export function countProblems({ problems }: LanguagesState, severity: Problem["severity"]): number {
  return Object.values(problems).reduce((sum, list) => sum + list.filter((problem) => problem.severity === severity).length, 0);
}
