import { generateKeyPairSync } from "node:crypto";
import { expect, test } from "vitest";
import { isHostKey } from "./ssh-host-key.ts";

test("a host key has the form of an Ed25519 key, because code in the sandbox may say anything", () => {
  const { publicKey } = generateKeyPairSync("ed25519");
  const raw = publicKey.export({ format: "der", type: "spki" }).subarray(-32);
  const encode = (name: string, key: Buffer) => {
    const field = (bytes: Buffer) => Buffer.concat([Buffer.from([0, 0, 0, bytes.length]), bytes]);
    return `ssh-ed25519 ${Buffer.concat([field(Buffer.from(name)), field(key)]).toString("base64")}`;
  };
  const good = encode("ssh-ed25519", raw);
  expect(isHostKey(good)).toBe(true);
  const others = [
    `${good} comment`,
    `${good}\n* ${good}`,
    encode("ssh-ed25518", raw),
    encode("ssh-ed25519", raw.subarray(1)),
    "",
    null,
    1,
    [good],
  ];
  expect(others.map(isHostKey)).toEqual(others.map(() => false));
});
