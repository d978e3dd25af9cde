import { useEffect, useRef, type ReactNode } from "react";

interface Props {
  title: string;
  children: ReactNode;
  action: string;
  onConfirm: () => void;
  onClose: () => void;
}

// Asks before something that cannot be undone. The safe answer has the focus.
export function Confirm({ title, children, action, onConfirm, onClose }: Props) {
  return (
    <Dialog title={title} onClose={onClose}>
      {children}
      <div className="row end">
        <button type="button" className="button" autoFocus onClick={onClose}>
          Cancel
        </button>
        <button type="button" className="button danger" onClick={onConfirm}>
          {action}
        </button>
      </div>
    </Dialog>
  );
}

export function Dialog({ title, children, onClose }: { title: string; children: ReactNode; onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} className="dialog" aria-label={title} onClose={onClose}>
      <h2>{title}</h2>
      {children}
    </dialog>
  );
}
