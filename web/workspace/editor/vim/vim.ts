import { Vim, vim } from "@replit/codemirror-vim";
import type { Extension } from "@codemirror/state";
import { saveFile } from "../../actions/save-file.ts";
import type { Uses } from "../../actions/actions.ts";

// The keys of Vim, with its mode below the text. `:w`, `:q` and `:wq` save and close.
export function vimKeys(deps: Uses<"activeEditor" | "closeActiveTab" | "documents" | "preferences">): Extension {
  const save = async () => {
    const path = deps.activeEditor.current()?.path;
    if (path !== undefined) await saveFile(deps, path);
  };
  const saveAndClose = async () => {
    await save();
    await deps.closeActiveTab();
  };
  Vim.defineEx("write", "w", () => void save());
  Vim.defineEx("quit", "q", () => void deps.closeActiveTab());
  Vim.defineEx("wq", "wq", () => void saveAndClose());
  return vim({ status: true });
}
