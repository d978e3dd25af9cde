import { createHmac, timingSafeEqual } from "node:crypto";
import type { SandboxId } from "@berth/contract";
import type { Secrets } from "../../../secrets/secrets.ts";

// The token that stands in for the model's key inside one sandbox: derived, so there is nothing to store, and worth
// nothing anywhere but at that sandbox's own way out.
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
      const seen = Buffer.from(token);
      return keys().some((key) => {
        const expected = Buffer.from(tokenWith(key, sandboxId));
        return seen.length === expected.length && timingSafeEqual(seen, expected);
      });
    },
  };
}
