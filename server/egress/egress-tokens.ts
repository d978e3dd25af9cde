import { createHmac, type KeyObject, timingSafeEqual } from "node:crypto";
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
  // Whether the session has an egress policy of its own. Servers of an earlier version read its row only then.
  hasOwnPolicy?: boolean;
}

export function createEgressTokens(secrets: Pick<Secrets, "derive">): EgressTokens {
  const sign = (key: KeyObject, text: string) => createHmac("sha256", key).update(text).digest();
  const keys = () => secrets.derive("egress-v1");
  return {
    issue(holder) {
      const text = textOf(holder);
      return `${text}.${sign(keys()[0]!, text).toString("base64url")}`;
    },
    check(token) {
      const [sandboxId = "", template = "", ...rest] = token.split(".");
      const hasOwnPolicy = rest.length === 2 && rest[0] === OWN_POLICY;
      const given = Buffer.from(rest.at(-1) ?? "", "base64url");
      if ((rest.length !== 1 && !hasOwnPolicy) || !isSandboxId(sandboxId) || given.length !== 32) return null;
      const holder = { sandboxId, template, ...(hasOwnPolicy && { hasOwnPolicy }) };
      const isGenuine = keys().filter((key) => timingSafeEqual(sign(key, textOf(holder)), given)).length > 0;
      return isGenuine ? holder : null;
    },
  };
}

const OWN_POLICY = "own";

const textOf = ({ sandboxId, template, hasOwnPolicy }: TokenHolder): string =>
  `${sandboxId}.${template}${hasOwnPolicy ? `.${OWN_POLICY}` : ""}`;
