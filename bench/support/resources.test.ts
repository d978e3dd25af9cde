import { expect, test } from "vitest";
import { createResources } from "./resources.ts";

test("the list removes what it still owns, the newest first, and each thing once", async () => {
  const removed: string[] = [];
  const resources = createResources();
  const thing = (name: string) => resources.defer(async () => removed.push(name));
  thing("server");
  const early = thing("folder");
  thing("sandbox");
  await early[Symbol.asyncDispose]();
  await resources[Symbol.asyncDispose]();
  await early[Symbol.asyncDispose]();
  expect(removed).toEqual(["folder", "sandbox", "server"]);
});

test("a thing that is made while an interrupted run removes everything is removed too", async () => {
  const removed: string[] = [];
  const resources = createResources();
  await resources[Symbol.asyncDispose]();
  resources.defer(async () => removed.push("late"));
  await expect.poll(() => removed).toEqual(["late"]);
});

test("a failure to remove one thing does not prevent the removal of the others", async () => {
  const removed: string[] = [];
  const resources = createResources();
  resources.defer(async () => removed.push("first"));
  resources.defer(() => Promise.reject(new Error("busy")));
  await expect(resources[Symbol.asyncDispose]()).rejects.toThrow("not everything");
  expect(removed).toEqual(["first"]);
});
