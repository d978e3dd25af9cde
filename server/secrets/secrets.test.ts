import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { createSecrets } from "./secrets.ts";

const [older, newer] = [randomBytes(32), randomBytes(32)];

test("a value sealed with an older key still opens after a newer key is added", () => {
  const sealed = createSecrets([older]).seal("TOKEN=1", "ses_a");
  expect(createSecrets([newer, older]).open(sealed, "ses_a")).toBe("TOKEN=1");
});

test("a sealed value opens only in its own context, unchanged, and with its own key", () => {
  const secrets = createSecrets([newer]);
  const sealed = secrets.seal("TOKEN=1", "ses_a");
  expect(() => secrets.open(sealed, "ses_b")).toThrow(/cannot be decrypted/);
  const changed = sealed.at(-5) === "A" ? "B" : "A";
  expect(() => secrets.open(`${sealed.slice(0, -5)}${changed}${sealed.slice(-4)}`, "ses_a")).toThrow(/cannot be decrypted/);
  expect(() => createSecrets([older]).open(sealed, "ses_a")).toThrow(/BERTH_MASTER_KEY/);
});

test("derived keys differ by purpose and by master key", () => {
  const secrets = createSecrets([newer, older]);
  const [a, b] = secrets.derive("launch-v1");
  expect(a!.equals(b!)).toBe(false);
  expect(secrets.derive("cookie-v1")[0]!.equals(a!)).toBe(false);
});
