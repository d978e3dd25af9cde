import { expect, test } from "vitest";
import { createInstallationWithStore } from "../testing/installation.ts";

test("a token for the console is shown once, listed without its secret, and revoked", async () => {
  const { json, berth } = await createInstallationWithStore();
  const { token, url } = (await json("console", "token", "--name", "Ada", "--expires", "30d")) as {
    token: { id: string; token: string; createdAt: string; expiresAt: string };
    url: string;
  };
  expect(token.token).toMatch(/^berth_op_[0-9a-f]{64}$/);
  expect(Math.round((Date.parse(token.expiresAt) - Date.parse(token.createdAt)) / 86_400_000)).toBe(30);
  expect(url).toMatch(/\/console$/);
  const listed = await berth("console", "list", "--json");
  expect(JSON.parse(listed.stdout)).toMatchObject([{ id: token.id, name: "Ada", state: "active" }]);
  expect(listed.stdout).not.toContain(token.token.slice(20));
  expect(await json("console", "revoke", token.id)).toMatchObject({ token: { state: "revoked" } });
  expect(await json("audit")).toMatchObject([
    { action: "console.token_revoke", target: token.id, actor: "cli" },
    { action: "console.token_issue", target: token.id },
  ]);
  expect((await berth("console", "token", "--expires", "400d")).stderr).toContain("at most 365d");
});
