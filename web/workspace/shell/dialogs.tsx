import { lazyPart } from "../browser/lazy-part.ts";
import type { Command } from "../palette/commands/command.ts";
import { useWorkspaceState } from "../state/context.ts";

// Until the dialogs are loaded, an empty one keeps what a person types out of the editor.
const placeholder = (
  <dialog ref={(dialog) => dialog?.showModal()} className="loading-dialog" aria-label="Loading">
    <div className="spinner" />
  </dialog>
);

export const OpenDialogs = lazyPart(() => import("./open-dialogs.tsx"), placeholder);

// The palette, lists to pick from, and questions.
export function Dialogs({ commands }: { commands: Command[] }) {
  const palette = useWorkspaceState("palette", (state) => state.mode !== null);
  const picker = useWorkspaceState("picker", (state) => state.list !== null);
  const question = useWorkspaceState("dialogs", (state) => state.question !== null);
  return (palette || picker || question) && <OpenDialogs commands={commands} />;
}
