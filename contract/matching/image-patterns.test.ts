import { expect, test } from "vitest";
import { isImageAllowed } from "./image-patterns.ts";

test("a star matches any characters, and everything else only itself", () => {
  const patterns = ["mcr.microsoft.com/devcontainers/*", "node:24"];
  const allowed = [
    "mcr.microsoft.com/devcontainers/base:bookworm",
    `mcr.microsoft.com/devcontainers/go@sha256:${"a".repeat(64)}`,
    "node:24",
  ];
  const refused = [
    "node:2",
    "xnode:24",
    "mcrxmicrosoft.com/devcontainers/base",
    "evil.example/mcr.microsoft.com/devcontainers/base",
    "debian",
  ];
  expect([...allowed, ...refused].filter((image) => isImageAllowed(image, patterns))).toEqual(allowed);
});

test("a name that means something else to the engine is never allowed", () => {
  for (const image of ["", "a/../../containers/x", "a b", "a?b", "a%2fb", "/a", "a//b", "a:", "-v", `a${"b".repeat(300)}`])
    expect([image, isImageAllowed(image, ["*"])]).toEqual([image, false]);
});
