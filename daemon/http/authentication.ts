import { createHash, createPublicKey, timingSafeEqual, verify, type KeyObject } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { adoptionText, TOKEN_HEADER, type AdoptRequest } from "@berth/contract/daemon.ts";
import { badRequest, Fault } from "./http.ts";

// Who may talk to the daemon: whoever has the token whose hash it knows. Usually it was started with that hash. A sandbox
// that was started ahead, for nobody yet, was given its servers' public key instead, and takes the first hash that one of
// them has signed for this very sandbox; until then it answers nobody.
export interface Authentication {
  // Throws unless the request carries the token.
  check(request: IncomingMessage): void;
  // May be repeated with the same hash; another one is refused.
  adopt(body: Partial<AdoptRequest>): void;
}

export interface AuthenticationOptions {
  // SHA-256 (hex) of the token.
  tokenHash: string | undefined;
  // Ed25519, the raw 32 bytes in base64url; and the name that signatures must be for.
  adoptKey: string | undefined;
  adoptName: string | undefined;
}

const HASH = /^[0-9a-f]{64}$/;
const unauthorized = () => new Fault(401, "unauthorized", "The sandbox's token is missing or wrong");

export function createAuthentication({ tokenHash, adoptKey, adoptName }: AuthenticationOptions): Authentication {
  if (tokenHash === undefined && (adoptKey === undefined || !adoptName))
    throw new Error(
      "BERTH_TOKEN_HASH must be the SHA-256 of a token, in hex, or BERTH_ADOPT_KEY and BERTH_ADOPT_NAME say who may give one",
    );
  if (tokenHash !== undefined && !HASH.test(tokenHash)) throw new Error("BERTH_TOKEN_HASH must be the SHA-256 of a token, in hex");
  const key = adoptKey === undefined ? null : readKey(adoptKey);
  let expected = tokenHash === undefined ? null : Buffer.from(tokenHash, "hex");

  return {
    check(request) {
      const token = request.headers[TOKEN_HEADER];
      const seen = createHash("sha256")
        .update(typeof token === "string" ? token : "")
        .digest();
      if (!expected || !timingSafeEqual(seen, expected)) throw unauthorized();
    },

    adopt({ tokenHash: given, signature }) {
      if (typeof given !== "string" || !HASH.test(given) || typeof signature !== "string")
        throw badRequest("tokenHash and signature are needed");
      const text = Buffer.from(adoptionText(adoptName ?? "", given));
      if (!key || !verify(null, text, key, Buffer.from(signature, "base64url"))) throw unauthorized();
      const hash = Buffer.from(given, "hex");
      if (expected && !timingSafeEqual(expected, hash)) throw new Fault(409, "exists", "The sandbox has a token already");
      expected = hash;
    },
  };
}

function readKey(raw: string): KeyObject {
  return createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x: raw }, format: "jwk" });
}
