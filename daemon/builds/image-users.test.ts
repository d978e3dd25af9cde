import { expect, test } from "vitest";
import { imageUsers } from "./image-users.ts";

const usersOf = (label: unknown) =>
  imageUsers(JSON.stringify({ OCIv1: { config: { User: "app:app", Labels: { "devcontainer.metadata": label } } } }));

test("an image for devcontainers names its users in a label, and the last entry counts", () => {
  const entries = [{ id: "a", remoteUser: "node" }, { remoteUser: "vscode", containerUser: "root" }, { id: "b" }];
  expect(usersOf(JSON.stringify(entries))).toEqual({ user: "app:app", containerUser: "root", remoteUser: "vscode" });
  expect(usersOf(JSON.stringify({ remoteUser: "node" })).remoteUser).toBe("node");
});

test("a label that is malformed or hostile names no users", () => {
  for (const label of [undefined, 7, "", "[", "null", '[{"remoteUser": "a\\nRUN b"}]', "[[1]]", '{"remoteUser": 1}'])
    expect(usersOf(label)).toEqual({ user: "app:app", containerUser: null, remoteUser: null });
  expect(imageUsers("{}").user).toBe("");
});
