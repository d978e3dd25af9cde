import { cloneElement, useId, useState, type FormEvent, type ReactElement, type ReactNode } from "react";
import { ApiError } from "../connection/api.ts";
import { Dialog } from "./confirm.tsx";
import { Failure } from "./failure.tsx";

interface FieldProps {
  label: string;
  help?: string;
  // The reason why the value is not valid.
  fault?: string | undefined;
  children: ReactElement<Record<string, unknown>>;
}

// A control with its name, a hint and what is wrong with it.
export function Field({ label, help, fault, children }: FieldProps) {
  const id = useId();
  const notes = [help !== undefined && `${id}-help`, fault !== undefined && `${id}-fault`].filter(Boolean).join(" ");
  return (
    <div className="form-field">
      <label htmlFor={id}>{label}</label>
      {cloneElement(children, { id, "aria-describedby": notes || undefined, "aria-invalid": fault !== undefined })}
      {help !== undefined && (
        <p id={`${id}-help`} className="muted">
          {help}
        </p>
      )}
      {fault !== undefined && (
        <p id={`${id}-fault`} role="alert" className="fault">
          {fault}
        </p>
      )}
    </div>
  );
}

interface FormDialogProps {
  title: string;
  action: string;
  // Rejects with an ApiError if the server refuses the values.
  onSubmit: () => Promise<void>;
  onClose: () => void;
  children: (faults: Record<string, string>) => ReactNode;
}

// A form in a dialog, which stays open until the server has accepted the values.
export function FormDialog({ title, action, onSubmit, onClose, children }: FormDialogProps) {
  const [faults, setFaults] = useState<Record<string, string>>({});
  const [failure, setFailure] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);

  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setFaults({});
    setFailure(null);
    try {
      await onSubmit();
      onClose();
    } catch (error) {
      const found = error instanceof ApiError ? error.faults : {};
      setFaults(found);
      if (Object.keys(found).length === 0) setFailure(error instanceof Error ? error.message : String(error));
      setBusy(false);
    }
  };

  return (
    <Dialog title={title} onClose={onClose}>
      <form className="form" noValidate onSubmit={(event) => void submit(event)}>
        {children(faults)}
        <Failure message={failure} />
        <div className="row end">
          <button type="button" className="button" onClick={onClose}>
            Cancel
          </button>
          <button className="button primary" disabled={isBusy}>
            {action}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
