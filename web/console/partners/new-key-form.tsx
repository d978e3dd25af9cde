import type { KeyScope } from "@berth/contract";
import { useState, type FormEvent } from "react";
import { Dialog } from "../parts/confirm.tsx";

interface NewKey {
  name: string;
  scope: KeyScope;
  expiresAt: string | null;
}

const SCOPES: Record<KeyScope, string> = {
  read: "read: sessions, events, webhooks and usage",
  sessions: "sessions: also create, change and open sessions",
  admin: "admin: also webhooks, keys and this console",
};
const DAY_MS = 86_400_000;
const LIFETIMES = [30, 90, 365];

export function NewKeyForm({ onSubmit, onClose }: { onSubmit: (key: NewKey) => void; onClose: () => void }) {
  const [name, setName] = useState("");
  const [scope, setScope] = useState<KeyScope>("sessions");
  const [days, setDays] = useState(0);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onSubmit({ name, scope, expiresAt: days === 0 ? null : new Date(Date.now() + days * DAY_MS).toISOString() });
  };
  return (
    <Dialog title="Issue a key" onClose={onClose}>
      <form className="form" onSubmit={submit}>
        <label>
          Name
          <input className="field" autoFocus maxLength={100} value={name} onChange={(event) => setName(event.target.value)} />
        </label>
        <label>
          Scope
          <select className="field" value={scope} onChange={(event) => setScope(event.target.value as KeyScope)}>
            {Object.entries(SCOPES).map(([value, text]) => (
              <option key={value} value={value}>
                {text}
              </option>
            ))}
          </select>
        </label>
        <label>
          Expires
          <select className="field" value={days} onChange={(event) => setDays(Number(event.target.value))}>
            <option value={0}>never</option>
            {LIFETIMES.map((lifetime) => (
              <option key={lifetime} value={lifetime}>
                in {lifetime} days
              </option>
            ))}
          </select>
        </label>
        <div className="row end">
          <button type="button" className="button" onClick={onClose}>
            Cancel
          </button>
          <button className="button primary">Issue</button>
        </div>
      </form>
    </Dialog>
  );
}
