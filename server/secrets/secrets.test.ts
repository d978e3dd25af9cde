import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { createSecrets } from "./secrets.ts";

const [older, newer] = [randomBytes(32), randomBytes(32)];

test("what one key sealed opens after a newer key came in front of it", () => {
  const sealed = createSecrets([older]).seal("TOKEN=1", "ses_a");
  expect(createSecrets([newer, older]).open(sealed, "ses_a")).toBe("TOKEN=1");
});

test("a sealed value opens in its own row only, and not at all when a byte was changed", () => {
  const secrets = createSecrets([newer]);
  const sealed = secrets.seal("TOKEN=1", "ses_a");
  expect(() => secrets.open(sealed, "ses_b")).toThrow(/does not open/);
  expect(() => secrets.open(`${sealed.slice(0, -2)}AA`, "ses_a")).toThrow(/does not open/);
  expect(() => createSecrets([older]).open(sealed, "ses_a")).toThrow(/BERTH_MASTER_KEY/);
});

test("keys for different purposes and from different masters differ", () => {
  const secrets = createSecrets([newer, older]);
  const [a, b] = secrets.derive("launch-v1");
  expect(a!.equals(b!)).toBe(false);
  expect(secrets.derive("cookie-v1")[0]!.equals(a!)).toBe(false);
});
