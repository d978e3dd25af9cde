import { createHmac, type KeyObject, timingSafeEqual } from "node:crypto";
import type { SandboxId } from "@berth/contract";
import type { Secrets } from "../secrets/secrets.ts";

// The tokens that programs in a sandbox use with a relay instead of the real credential. A token is derived, so it is not stored, and
// valid only on the egress proxy of that sandbox.
export interface SandboxTokens {
  issue(sandboxId: SandboxId): string;
  check(sandboxId: SandboxId, token: string): boolean;
}

// Each kind of token has its own key and prefix.
const KINDS = {
  model: { label: "model-token-v1", prefix: "berth-model-" },
  relay: { label: "relay-token-v1", prefix: "" },
};

export function createSandboxTokens(secrets: Secrets, kind: keyof typeof KINDS): SandboxTokens {
  const { label, prefix } = KINDS[kind];
  const tokenWith = (key: KeyObject, sandboxId: SandboxId) => prefix + createHmac("sha256", key).update(sandboxId).digest("base64url");
  const keys = () => secrets.derive(label);
  return {
    issue: (sandboxId) => tokenWith(keys()[0]!, sandboxId),
    check(sandboxId, token) {
      const given = Buffer.from(token);
      return keys().some((key) => {
        const expected = Buffer.from(tokenWith(key, sandboxId));
        return given.length === expected.length && timingSafeEqual(given, expected);
      });
    },
  };
}
