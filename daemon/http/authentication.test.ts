import { createHash, generateKeyPairSync, sign } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { TOKEN_HEADER } from "@berth/contract/daemon.ts";
import { adoptionText } from "@berth/contract/daemon-internal.ts";
import { expect, test } from "vitest";
import { createAuthentication } from "./authentication.ts";

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
const requestWith = (token?: string) => ({ headers: token === undefined ? {} : { [TOKEN_HEADER]: token } }) as unknown as IncomingMessage;
const { publicKey, privateKey } = generateKeyPairSync("ed25519");
const adoptKey = publicKey.export({ format: "jwk" }).x!;
const signed = (tokenHash: string, name = "pod-1", key = privateKey) => ({
  tokenHash,
  signature: sign(null, Buffer.from(adoptionText(name, tokenHash)), key).toString("base64url"),
});
const unadopted = () => createAuthentication({ tokenHash: undefined, adoptKey, adoptName: "pod-1" });

test("a daemon started with a hash accepts its token and cannot be adopted", () => {
  const authentication = createAuthentication({ tokenHash: sha256("mine"), adoptKey: undefined, adoptName: undefined });
  authentication.check(requestWith("mine"));
  expect(() => authentication.check(requestWith("other"))).toThrow("missing or wrong");
  expect(() => authentication.check(requestWith())).toThrow("missing or wrong");
  expect(() => authentication.adopt(signed(sha256("other")))).toThrow("missing or wrong");
});

test("a daemon started without a hash refuses every request until it is adopted", () => {
  const authentication = unadopted();
  expect(() => authentication.check(requestWith("mine"))).toThrow("missing or wrong");
  expect(() => authentication.check(requestWith())).toThrow("missing or wrong");
  authentication.adopt(signed(sha256("mine")));
  authentication.check(requestWith("mine"));
});

test("a signature for another sandbox, for another hash or by another key is refused", () => {
  const authentication = unadopted();
  const otherKey = generateKeyPairSync("ed25519").privateKey;
  for (const body of [
    signed(sha256("mine"), "pod-2"),
    { ...signed(sha256("mine")), tokenHash: sha256("theirs") },
    signed(sha256("mine"), "pod-1", otherKey),
    { tokenHash: sha256("mine"), signature: "" },
  ])
    expect(() => authentication.adopt(body)).toThrow("missing or wrong");
  expect(() => authentication.check(requestWith("mine"))).toThrow("missing or wrong");
});

test("adopting again with the same hash is a no-op, and another hash is refused", () => {
  const authentication = unadopted();
  authentication.adopt(signed(sha256("mine")));
  authentication.adopt(signed(sha256("mine")));
  expect(() => authentication.adopt(signed(sha256("theirs")))).toThrow("already has a token");
  authentication.check(requestWith("mine"));
});

test("malformed adoptions and incomplete configurations are refused", () => {
  const authentication = unadopted();
  for (const body of [{}, { tokenHash: "short", signature: "x" }, { tokenHash: 1, signature: 2 } as object])
    expect(() => authentication.adopt(body)).toThrow("are required");
  expect(() => createAuthentication({ tokenHash: undefined, adoptKey: undefined, adoptName: undefined })).toThrow("BERTH_TOKEN_HASH");
  expect(() => createAuthentication({ tokenHash: "", adoptKey, adoptName: "pod-1" })).toThrow("BERTH_TOKEN_HASH");
});
