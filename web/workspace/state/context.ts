import { createContext, use } from "react";
import { useStore } from "zustand";
import type { StoreApi } from "zustand/vanilla";
import type { Workspace } from "./workspace.ts";

export const WorkspaceContext = createContext<Workspace | null>(null);

export function useWorkspace(): Workspace {
  const workspace = use(WorkspaceContext);
  if (workspace === null) throw new Error("useWorkspace needs a WorkspaceContext");
  return workspace;
}

type StateOf<Part> = Part extends { store: { getState: () => infer State } } ? State : never;
type Stores = { [Name in keyof Workspace as StateOf<Workspace[Name]> extends never ? never : Name]: StateOf<Workspace[Name]> };

// Selects a value from one of the workspace's stores. The component renders again only when this value changes.
export function useWorkspaceState<Name extends keyof Stores, Value>(name: Name, select: (state: Stores[Name]) => Value): Value {
  const workspace: { [Each in keyof Stores]: { store: StoreApi<Stores[Each]> } } = useWorkspace();
  return useStore(workspace[name].store, select);
}
