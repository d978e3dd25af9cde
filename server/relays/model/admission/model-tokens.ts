import { createHmac, timingSafeEqual } from "node:crypto";
import type { SandboxId } from "@berth/contract";
import type { Secrets } from "../../../secrets/secrets.ts";

// The token that programs in a sandbox use instead of the model's API key. It is derived, so it is not stored, and valid only on
// the egress proxy of that sandbox.
export interface ModelTokens {
  issue(sandboxId: SandboxId): string;
  check(sandboxId: SandboxId, token: string): boolean;
}

export function createModelTokens(secrets: Secrets): ModelTokens {
  const tokenWith = (key: Buffer, sandboxId: SandboxId) => `berth-model-${createHmac("sha256", key).update(sandboxId).digest("base64url")}`;
  const keys = () => secrets.derive("model-token-v1");
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
