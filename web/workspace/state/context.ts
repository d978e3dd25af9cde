import { createContext, use } from "react";
import { useStore } from "zustand";
import type { StoreApi } from "zustand/vanilla";
import type { Page } from "./page.ts";
import type { Sandbox } from "./sandbox.ts";
import type { Session } from "./session.ts";

export const PageContext = createContext<Page | null>(null);
export const SandboxContext = createContext<Sandbox | null>(null);
export const SessionContext = createContext<Session | null>(null);

export const usePage = (): Page => use(PageContext) ?? missing();
export const useSandbox = (): Sandbox => use(SandboxContext) ?? missing();
export const useSession = (): Session => use(SessionContext) ?? missing();

export type State = Page & Sandbox & Session;

export function missing(): never {
  throw new Error("A component is outside of its context");
}

type StateOf<Part> = Part extends { store: { getState: () => infer State } } ? State : never;
type Stores<Parts> = { [Name in keyof Parts as StateOf<Parts[Name]> extends never ? never : Name]: StateOf<Parts[Name]> };
type WithStores<Parts> = { [Name in keyof Stores<Parts>]: { store: StoreApi<Stores<Parts>[Name]> } };

// These select a value from one of the stores. The component renders again only when this value changes.
export const usePageState = <Name extends keyof Stores<Page>, Value>(name: Name, select: (state: Stores<Page>[Name]) => Value): Value =>
  useStore((usePage() as WithStores<Page>)[name].store, select);
export const useSandboxState = <Name extends keyof Stores<Sandbox>, Value>(
  name: Name,
  select: (state: Stores<Sandbox>[Name]) => Value,
): Value => useStore((useSandbox() as WithStores<Sandbox>)[name].store, select);
export const useSessionState = <Value>(select: (state: StateOf<Session>) => Value): Value => useStore(useSession().store, select);
