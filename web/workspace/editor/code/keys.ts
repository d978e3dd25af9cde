import { Compartment, Prec, type Extension } from "@codemirror/state";
import { loadModule } from "../../browser/load-module.ts";
import type { Uses } from "../../actions/actions.ts";

// Keys that take precedence over those of VS Code.
export const keys = new Compartment();

export const noKeys: Extension = [];

// The chosen keys. Vim is large, so it is loaded when it is chosen.
export async function loadKeys(deps: Uses<"activeEditor" | "closeActiveTab" | "documents" | "preferences">): Promise<Extension> {
  if (deps.preferences.store.getState().keymap !== "vim") return noKeys;
  const { vimKeys } = await loadModule(() => import("../vim/vim.ts"));
  return Prec.highest(vimKeys(deps));
}
