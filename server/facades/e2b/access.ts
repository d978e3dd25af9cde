import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import type { SandboxId } from "@berth/contract";
import type { Secrets } from "../../secrets/secrets.ts";

// The credentials of one sandbox. They are derived from the master key, so there is nothing to store: `access` is for the calls into the
// sandbox, `traffic` for its web servers.
export interface Access {
  tokenOf(kind: TokenKind, sandboxId: SandboxId): string;
  accepts(kind: TokenKind, sandboxId: SandboxId, token: string): boolean;
  // Whether a signed URL of a file was made with the access token of this sandbox.
  hasSigned(sandboxId: SandboxId, signed: SignedUrl): boolean;
}

export type TokenKind = "access" | "traffic";

export interface SignedUrl {
  // As they are in the URL.
  path: string;
  user: string;
  expiration: string | null;
  operation: "read" | "write";
  signature: string;
}

export function createAccess(secrets: Pick<Secrets, "derive">): Access {
  const keys = secrets.derive("e2b-v1");
  const tokensOf = (kind: TokenKind, sandboxId: SandboxId) =>
    keys.map((key) => createHmac("sha256", key).update(`${kind} ${sandboxId}`).digest("base64url"));

  return {
    tokenOf: (kind, sandboxId) => tokensOf(kind, sandboxId)[0]!,
    accepts: (kind, sandboxId, token) => tokensOf(kind, sandboxId).some((expected) => isSame(expected, token)),
    hasSigned: (sandboxId, signed) => tokensOf("access", sandboxId).some((token) => isSame(sign(token, signed), signed.signature)),
  };
}

function sign(token: string, { path, user, expiration, operation }: SignedUrl): string {
  const text = [path, operation, user, token, ...(expiration === null ? [] : [expiration])].join(":");
  return `v1_${createHash("sha256").update(text).digest("base64").replace(/=+$/, "")}`;
}

function isSame(expected: string, given: string): boolean {
  const [a, b] = [Buffer.from(expected), Buffer.from(given)];
  return a.length === b.length && timingSafeEqual(a, b);
}
