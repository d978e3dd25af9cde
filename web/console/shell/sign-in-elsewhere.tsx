import { useEffect, useState } from "react";
import type { ConsoleSignIn, SignInFault } from "@berth/contract/console.ts";
import type { Api } from "../connection/api.ts";
import { Failure } from "../parts/failure.tsx";

const FAULTS: Record<SignInFault, string> = {
  unreachable: "The identity provider does not answer. Try again in a moment, or sign in with a token.",
  denied: "The identity provider did not sign you in.",
  invalid:
    "The answer of the identity provider is not valid. Try again; if it happens again, the operator finds the reason in the server’s log.",
  not_allowed: "This account may not use the console. The operator can allow it in BERTH_CONSOLE_OIDC_ALLOW.",
  expired: "The sign-in took too long, or was started in another browser. Try again.",
};

// Leads to the identity provider, if the operator has configured one, and says why the last sign-in there failed.
export function SignInElsewhere({ api }: { api: Api }) {
  const [isConfigured, setConfigured] = useState(false);
  useEffect(() => {
    api.get<ConsoleSignIn>("/sign-in").then(
      ({ hasIdentityProvider }) => setConfigured(hasIdentityProvider),
      () => {},
    );
  }, [api]);
  if (!isConfigured) return null;
  const fault = new URLSearchParams(location.search).get("sign-in");
  return (
    <>
      <Failure message={FAULTS[fault as SignInFault] ?? null} />
      <a className="button primary" href="/console/oidc/login">
        Sign in with your organization
      </a>
      <p className="or muted">or with a token</p>
    </>
  );
}
