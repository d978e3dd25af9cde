import { createContext, use } from "react";
import { missing, type State } from "../state/context.ts";
import type { Page } from "../state/page.ts";
import type { Sandbox } from "../state/sandbox.ts";
import { createFocusActions } from "./focus-actions.ts";
import { createOpenActions } from "./open-actions.ts";
import { createTabActions } from "./tab-actions.ts";
import { createTreeActions } from "./tree-actions.ts";

export type Actions = ReturnType<typeof createActions>;

// The stores and actions that a function uses.
export type Uses<Name extends keyof (State & Actions)> = Pick<State & Actions, Name>;

// The actions of a person that the first screen offers. The others load with the parts that offer them.
export function createActions(page: Page, sandbox: Sandbox) {
  const state = { ...page, ...sandbox };
  return { ...createOpenActions(state), ...createTabActions(state), ...createFocusActions(state), ...createTreeActions(state) };
}

export const ActionsContext = createContext<Actions | null>(null);

export const useActions = (): Actions => use(ActionsContext) ?? missing();
