import { Vim, vim } from "@replit/codemirror-vim";
import type { Extension } from "@codemirror/state";
import { saveFile } from "../../state/actions/save-file.ts";
import { closeActiveTab } from "../../state/actions/tab-actions.ts";
import type { Workspace } from "../../state/workspace.ts";

// The keys of Vim, with its mode below the text. `:w`, `:q` and `:wq` save and close.
export function vimKeys(workspace: Workspace): Extension {
  const save = async () => {
    const path = workspace.activeEditor.current()?.path;
    if (path !== undefined) await saveFile(workspace, path);
  };
  const saveAndClose = async () => {
    await save();
    await closeActiveTab(workspace);
  };
  Vim.defineEx("write", "w", () => void save());
  Vim.defineEx("quit", "q", () => void closeActiveTab(workspace));
  Vim.defineEx("wq", "wq", () => void saveAndClose());
  return vim({ status: true });
}
