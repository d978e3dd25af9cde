import { createHash, generateKeyPairSync, sign } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { adoptionText, TOKEN_HEADER } from "@berth/contract/daemon.ts";
import { expect, test } from "vitest";
import { createDoor } from "./door.ts";

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
const asking = (token?: string) => ({ headers: token === undefined ? {} : { [TOKEN_HEADER]: token } }) as unknown as IncomingMessage;
const { publicKey, privateKey } = generateKeyPairSync("ed25519");
const adoptKey = publicKey.export({ format: "jwk" }).x!;
const signed = (tokenHash: string, name = "pod-1", key = privateKey) => ({
  tokenHash,
  signature: sign(null, Buffer.from(adoptionText(name, tokenHash)), key).toString("base64url"),
});
const waiting = () => createDoor({ tokenHash: undefined, adoptKey, adoptName: "pod-1" });

test("a daemon that was started with a hash lets in who has the token, and is not adopted", () => {
  const door = createDoor({ tokenHash: sha256("mine"), adoptKey: undefined, adoptName: undefined });
  door.check(asking("mine"));
  expect(() => door.check(asking("other"))).toThrow("missing or wrong");
  expect(() => door.check(asking())).toThrow("missing or wrong");
  expect(() => door.adopt(signed(sha256("other")))).toThrow("missing or wrong");
});

test("a daemon that waits answers nobody until a server has signed a hash for it", () => {
  const door = waiting();
  expect(() => door.check(asking("mine"))).toThrow("missing or wrong");
  expect(() => door.check(asking())).toThrow("missing or wrong");
  door.adopt(signed(sha256("mine")));
  door.check(asking("mine"));
});

test("a signature for another sandbox, for another hash or by another key is worth nothing", () => {
  const door = waiting();
  const stranger = generateKeyPairSync("ed25519").privateKey;
  for (const body of [
    signed(sha256("mine"), "pod-2"),
    { ...signed(sha256("mine")), tokenHash: sha256("theirs") },
    signed(sha256("mine"), "pod-1", stranger),
    { tokenHash: sha256("mine"), signature: "" },
  ])
    expect(() => door.adopt(body)).toThrow("missing or wrong");
  expect(() => door.check(asking("mine"))).toThrow("missing or wrong");
});

test("who repeats the adoption is let be; who comes second with another hash is refused", () => {
  const door = waiting();
  door.adopt(signed(sha256("mine")));
  door.adopt(signed(sha256("mine")));
  expect(() => door.adopt(signed(sha256("theirs")))).toThrow("a token already");
  door.check(asking("mine"));
});

test("nonsense is refused, and so is a daemon without any door", () => {
  const door = waiting();
  for (const body of [{}, { tokenHash: "short", signature: "x" }, { tokenHash: 1, signature: 2 } as object])
    expect(() => door.adopt(body)).toThrow("are needed");
  expect(() => createDoor({ tokenHash: undefined, adoptKey: undefined, adoptName: undefined })).toThrow("BERTH_TOKEN_HASH");
  expect(() => createDoor({ tokenHash: "", adoptKey, adoptName: "pod-1" })).toThrow("BERTH_TOKEN_HASH");
});
