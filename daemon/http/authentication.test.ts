import { createHash, generateKeyPairSync, sign } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { adoptionText, TOKEN_HEADER } from "@berth/contract/daemon.ts";
import { expect, test } from "vitest";
import { createAuthentication } from "./authentication.ts";

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
const asking = (token?: string) => ({ headers: token === undefined ? {} : { [TOKEN_HEADER]: token } }) as unknown as IncomingMessage;
const { publicKey, privateKey } = generateKeyPairSync("ed25519");
const adoptKey = publicKey.export({ format: "jwk" }).x!;
const signed = (tokenHash: string, name = "pod-1", key = privateKey) => ({
  tokenHash,
  signature: sign(null, Buffer.from(adoptionText(name, tokenHash)), key).toString("base64url"),
});
const waiting = () => createAuthentication({ tokenHash: undefined, adoptKey, adoptName: "pod-1" });

test("a daemon that was started with a hash lets in who has the token, and is not adopted", () => {
  const authentication = createAuthentication({ tokenHash: sha256("mine"), adoptKey: undefined, adoptName: undefined });
  authentication.check(asking("mine"));
  expect(() => authentication.check(asking("other"))).toThrow("missing or wrong");
  expect(() => authentication.check(asking())).toThrow("missing or wrong");
  expect(() => authentication.adopt(signed(sha256("other")))).toThrow("missing or wrong");
});

test("a daemon that waits answers nobody until a server has signed a hash for it", () => {
  const authentication = waiting();
  expect(() => authentication.check(asking("mine"))).toThrow("missing or wrong");
  expect(() => authentication.check(asking())).toThrow("missing or wrong");
  authentication.adopt(signed(sha256("mine")));
  authentication.check(asking("mine"));
});

test("a signature for another sandbox, for another hash or by another key is worth nothing", () => {
  const authentication = waiting();
  const stranger = generateKeyPairSync("ed25519").privateKey;
  for (const body of [
    signed(sha256("mine"), "pod-2"),
    { ...signed(sha256("mine")), tokenHash: sha256("theirs") },
    signed(sha256("mine"), "pod-1", stranger),
    { tokenHash: sha256("mine"), signature: "" },
  ])
    expect(() => authentication.adopt(body)).toThrow("missing or wrong");
  expect(() => authentication.check(asking("mine"))).toThrow("missing or wrong");
});

test("who repeats the adoption is let be; who comes second with another hash is refused", () => {
  const authentication = waiting();
  authentication.adopt(signed(sha256("mine")));
  authentication.adopt(signed(sha256("mine")));
  expect(() => authentication.adopt(signed(sha256("theirs")))).toThrow("a token already");
  authentication.check(asking("mine"));
});

test("nonsense is refused, and so is a daemon without any authentication", () => {
  const authentication = waiting();
  for (const body of [{}, { tokenHash: "short", signature: "x" }, { tokenHash: 1, signature: 2 } as object])
    expect(() => authentication.adopt(body)).toThrow("are needed");
  expect(() => createAuthentication({ tokenHash: undefined, adoptKey: undefined, adoptName: undefined })).toThrow("BERTH_TOKEN_HASH");
  expect(() => createAuthentication({ tokenHash: "", adoptKey, adoptName: "pod-1" })).toThrow("BERTH_TOKEN_HASH");
});
