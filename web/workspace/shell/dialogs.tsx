import { useEffect, type KeyboardEvent } from "react";
import { lazyPart } from "../browser/lazy-part.ts";
import type { LoadedCommands } from "../palette/use-commands.ts";
import { usePage, usePageState } from "../state/context.ts";

export const OpenDialogs = lazyPart(() => import("./open-dialogs.tsx"), <LoadingDialog />);

// Until the dialogs are loaded, an empty one keeps what a person types out of the editor and for the palette.
function LoadingDialog() {
  const { palette } = usePage();
  const keep = ({ key, ctrlKey, metaKey }: KeyboardEvent) => ctrlKey || metaKey || palette.keep(key);
  return (
    <dialog ref={(dialog) => dialog?.showModal()} className="loading-dialog" aria-label="Loading" onKeyDown={keep}>
      <div className="spinner" />
    </dialog>
  );
}

// The palette, lists to pick from, and questions.
export function Dialogs({ list, isComplete, loadNow }: LoadedCommands) {
  const palette = usePageState("palette", (state) => state.mode !== null);
  const picker = usePageState("picker", (state) => state.list !== null);
  const question = usePageState("dialogs", (state) => state.question !== null);
  const isOpen = palette || picker || question;
  useEffect(() => {
    if (isOpen && !isComplete) loadNow();
  }, [isOpen, isComplete, loadNow]);
  if (!isOpen) return null;
  return isComplete ? <OpenDialogs commands={list} /> : <LoadingDialog />;
}
