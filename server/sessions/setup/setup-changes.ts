import { AppError } from "@berth/contract";
import type { Secrets } from "../../secrets/secrets.ts";
import type { PartnerSession } from "../../store/sessions/session.ts";
import type { SessionChanges } from "../../store/sessions/write.ts";
import { GIT_RELAY, openRelays, sealRelays, withToken } from "./session-relays.ts";

// The changes that renew the token of a session's repository. A source that has failed is fetched again with it.
export function renewToken(secrets: Secrets, session: PartnerSession, token: string): SessionChanges {
  const { sandboxId, sealedRelays } = session;
  const relays = openRelays(secrets, sealedRelays, sandboxId);
  if (!relays.some(({ name }) => name === GIT_RELAY))
    throw new AppError("validation_failed", {
      details: [{ field: "source.git.token", message: "The session was created without a token, so there is none to renew" }],
    });
  const renewed = relays.map((relay) => (relay.name === GIT_RELAY ? withToken(relay, token) : relay));
  return { sealedRelays: sealRelays(secrets, renewed, sandboxId)!, ...(session.state === "running" && retryChanges(session)) };
}

// The changes that let a failed source be fetched again. null: it has not failed.
export function retryChanges({ setup }: PartnerSession): SessionChanges | null {
  if (setup?.source?.status !== "failed") return null;
  return {
    setup: { ...setup, source: { ...setup.source, status: "pending", reason: null }, status: "pending", attempt: setup.attempt + 1 },
    setupState: "source",
  };
}
