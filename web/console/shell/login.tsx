import { useState, type FormEvent } from "react";
import type { ConsoleViewer, ViewerKind } from "@berth/contract/console.ts";
import { Logo } from "../../workspace/parts/logo.tsx";
import type { Api } from "../connection/api.ts";
import { SignInElsewhere } from "./sign-in-elsewhere.tsx";

const TEXTS = {
  operator: {
    title: "Berth console",
    label: "Operator token",
    help: (
      <>
        Create a token on the server’s machine with <code>berth console token</code>.
      </>
    ),
  },
  partner: {
    title: "Partner console",
    label: "API key",
    help: (
      <>
        Use a key with the scope <code>admin</code>. It stays on the server; this browser gets a cookie for twelve hours.
      </>
    ),
  },
};

export function LoginPage({ kind, api, onSignedIn }: { kind: ViewerKind; api: Api; onSignedIn: (viewer: ConsoleViewer) => void }) {
  const [secret, setSecret] = useState("");
  const [error, setError] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const { title, label, help } = TEXTS[kind];

  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    try {
      onSignedIn(await api.post<ConsoleViewer>("/login", { body: { secret } }));
    } catch (failure) {
      const message = failure instanceof Error ? failure.message : String(failure);
      setError(message === "Unauthorized" ? `This ${label.toLowerCase()} is unknown, expired or revoked.` : message);
      setBusy(false);
    }
  };

  return (
    <main className="login">
      <form className="card" onSubmit={(event) => void submit(event)}>
        <div className="brand-line">
          <Logo image={null} />
          <h1>{title}</h1>
        </div>
        {kind === "operator" && <SignInElsewhere api={api} />}
        <label htmlFor="secret">{label}</label>
        <input
          id="secret"
          className="field mono"
          type="password"
          autoComplete="current-password"
          autoFocus
          required
          spellCheck={false}
          value={secret}
          aria-describedby="login-help"
          onChange={(event) => setSecret(event.target.value)}
        />
        <p id="login-help" className="muted">
          {help}
        </p>
        {error !== null && (
          <p role="alert" className="failure">
            {error}
          </p>
        )}
        <button className="button primary" disabled={isBusy}>
          Sign in
        </button>
      </form>
    </main>
  );
}
