import { createPublicKey, hash, type KeyObject, timingSafeEqual, verify } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { TOKEN_HEADER } from "@berth/contract/daemon.ts";
import { type AdoptRequest, adoptionText } from "@berth/contract/daemon-internal.ts";
import { AppError } from "@berth/contract/errors.ts";
import { badRequest } from "./errors.ts";

// Every request must carry the token whose SHA-256 the daemon knows. Most daemons get that hash at their start. A sandbox
// that was started ahead of time has no owner yet: it gets the public key of its servers instead, and accepts the first
// hash that one of them has signed for this sandbox. Until then it refuses every request.
export interface Authentication {
  // Throws unless the request carries the token.
  check(request: IncomingMessage): void;
  // Idempotent for the same hash; refuses a different one.
  adopt(body: Partial<AdoptRequest>): void;
}

export interface AuthenticationOptions {
  // SHA-256 of the token, in hex.
  tokenHash: string | undefined;
  // The raw 32 bytes of an Ed25519 public key, in base64url.
  adoptKey: string | undefined;
  // Signatures must be made for this name.
  adoptName: string | undefined;
}

const HASH = /^[0-9a-f]{64}$/;

export function createAuthentication({ tokenHash, adoptKey, adoptName }: AuthenticationOptions): Authentication {
  if (tokenHash === undefined && (adoptKey === undefined || !adoptName))
    throw new Error("Set BERTH_TOKEN_HASH to the SHA-256 of a token, in hex, or set both BERTH_ADOPT_KEY and BERTH_ADOPT_NAME");
  if (tokenHash !== undefined && !HASH.test(tokenHash)) throw new Error("BERTH_TOKEN_HASH must be the SHA-256 of a token, in hex");
  const key = adoptKey === undefined ? null : readKey(adoptKey);
  let expected = tokenHash === undefined ? null : Buffer.from(tokenHash, "hex");

  return {
    check(request) {
      const token = request.headers[TOKEN_HEADER];
      const actual = hash("sha256", typeof token === "string" ? token : "", "buffer");
      if (!expected || !timingSafeEqual(actual, expected)) throw unauthorized();
    },

    adopt({ tokenHash: offered, signature }) {
      if (typeof offered !== "string" || !HASH.test(offered) || typeof signature !== "string")
        throw badRequest("tokenHash and signature are required");
      const text = Buffer.from(adoptionText(adoptName ?? "", offered));
      if (!key || !verify(null, text, key, Buffer.from(signature, "base64url"))) throw unauthorized();
      const given = Buffer.from(offered, "hex");
      if (expected && !timingSafeEqual(expected, given)) throw new AppError("exists", { message: "The sandbox already has a token" });
      expected = given;
    },
  };
}

const unauthorized = () => new AppError("unauthorized", { message: "The sandbox token is missing or wrong" });

function readKey(raw: string): KeyObject {
  return createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x: raw }, format: "jwk" });
}
