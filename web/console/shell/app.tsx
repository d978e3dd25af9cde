import { useEffect, useMemo, useState } from "react";
import type { ConsoleViewer } from "@berth/contract/console.ts";
import { ApiError, createApi } from "../connection/api.ts";
import { ConsoleContext } from "../connection/context.ts";
import { useLocation } from "../connection/location.ts";
import { Frame } from "./frame.tsx";
import { LoginPage } from "./login.tsx";

type Login = { state: "unknown" } | { state: "out" } | { state: "in"; viewer: ConsoleViewer } | { state: "failed"; message: string };

export function App() {
  const { kind } = useLocation();
  const [login, setLogin] = useState<Login>({ state: "unknown" });
  const api = useMemo(() => createApi(kind, { onSignedOut: () => setLogin({ state: "out" }) }), [kind]);

  useEffect(() => {
    setLogin({ state: "unknown" });
    api.get<ConsoleViewer>("/viewer").then(
      (viewer) => setLogin({ state: "in", viewer }),
      (error: ApiError) => error.status !== 401 && setLogin({ state: "failed", message: error.message }),
    );
  }, [api]);

  const context = useMemo(() => {
    if (login.state !== "in") return null;
    const signOut = () => void api.post("/logout").finally(() => setLogin({ state: "out" }));
    return { api, viewer: login.viewer, signOut };
  }, [api, login]);

  if (context)
    return (
      <ConsoleContext value={context}>
        <Frame />
      </ConsoleContext>
    );
  if (login.state === "out") return <LoginPage kind={kind} api={api} onSignedIn={(viewer) => setLogin({ state: "in", viewer })} />;
  return <main className="login">{login.state === "failed" ? <p role="alert">{login.message}</p> : <div className="spinner" />}</main>;
}
