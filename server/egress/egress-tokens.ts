import { createHmac, timingSafeEqual } from "node:crypto";
import { isSandboxId, type SandboxId } from "@berth/contract";
import type { Secrets } from "../secrets/secrets.ts";

// Signed tokens with which daemons on other machines identify themselves to the proxy. A token names the sandbox and its
// template, and every server with the master key can check it. Code in the sandbox can read its token, so a token alone is not
// enough: see admission.ts.
export interface EgressTokens {
  issue(holder: TokenHolder): string;
  check(token: string): TokenHolder | null;
}

export interface TokenHolder {
  sandboxId: SandboxId;
  template: string;
}

export function createEgressTokens(secrets: Pick<Secrets, "derive">): EgressTokens {
  const sign = (key: Buffer, text: string) => createHmac("sha256", key).update(text).digest();
  const keys = () => secrets.derive("egress-v1");
  return {
    issue({ sandboxId, template }) {
      const text = `${sandboxId}.${template}`;
      return `${text}.${sign(keys()[0]!, text).toString("base64url")}`;
    },
    check(token) {
      const [sandboxId = "", template = "", signature = "", ...rest] = token.split(".");
      const given = Buffer.from(signature, "base64url");
      if (rest.length > 0 || !isSandboxId(sandboxId) || given.length !== 32) return null;
      const isGenuine = keys().filter((key) => timingSafeEqual(sign(key, `${sandboxId}.${template}`), given)).length > 0;
      return isGenuine ? { sandboxId, template } : null;
    },
  };
}
