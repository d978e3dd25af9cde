import { text } from "node:stream/consumers";
import { AppError } from "@berth/contract";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startGitServer, type GitServer } from "../../../tests/support/git/git-server.ts";
import { HOUR } from "../../clock.ts";
import type { Driver, SandboxSpec } from "../../drivers/driver.ts";
import { imageNotFetched } from "../../drivers/image-not-fetched.ts";
import { DEFAULT_TEMPLATE } from "../../templates.ts";
import { aRequest, openTestSessions, type TestSessions } from "../testing/test-sessions.ts";

const templates = new Map([["default", { ...DEFAULT_TEMPLATE, allowedImages: ["example.com/*"] }]]);
let git: GitServer;

beforeAll(async () => {
  git = await startGitServer(null);
  for (const name of ["works", "broken", "absent"])
    git.addRepository(name, {
      ".devcontainer.json": JSON.stringify({ image: `example.com/${name}`, postCreateCommand: "echo once >> ran" }),
    });
});
afterAll(() => git[Symbol.asyncDispose]());

// The process driver, as if its sandboxes had images. `started` has the image of each start.
function withImages(started: (string | undefined)[], onResume = async (_spec: SandboxSpec) => {}) {
  return (driver: Driver): Driver => ({
    ...driver,
    images: {
      fetch: async (image) => {
        if (image.endsWith("/absent")) throw imageNotFetched("manifest unknown");
      },
    },
    async resume(spec, signal) {
      await onResume(spec);
      started.push(spec.image);
      if (spec.image?.endsWith("/broken")) throw new AppError("capacity_reached", { message: "There is no room" });
      return driver.resume(spec, signal);
    },
  });
}

const create = (services: TestSessions, name: string) =>
  services.sessions.create(services.acme, aRequest({ source: { git: { url: git.url(name) } } }));

async function setupOf(services: TestSessions, id: string) {
  const read = async () => (await services.sessions.get("acme", id)).setup;
  await expect.poll(read, { timeout: 30_000 }).toMatchObject({ status: "finished", exitCode: 0, source: { status: "ready" } });
  return read();
}

test("an image that cannot be fetched or started leaves the session in the one that it has", async () => {
  const started: (string | undefined)[] = [];
  await using services = await openTestSessions({ templates, wrapDriver: withImages(started) });
  const absent = await create(services, "absent");
  expect(await setupOf(services, absent.id)).toMatchObject({
    image: {
      name: "example.com/absent",
      status: "failed",
      reason: "The image could not be fetched: its registry does not have it, or does not give it to this server",
    },
  });
  expect(started).toEqual([]);
  const broken = await create(services, "broken");
  expect(await setupOf(services, broken.id)).toMatchObject({
    image: { name: "example.com/broken", status: "failed", reason: "There is no room" },
  });
  expect(started).toEqual(["example.com/broken", undefined]);
  await services.sessions.pause("acme", broken.id);
  await services.sessions.resume("acme", broken.id, { autoStartAgent: false });
  expect(started).toEqual(["example.com/broken", undefined, undefined]);
});

test("another server finishes the change of an image, and the setup runs once", async () => {
  const hangs = Promise.withResolvers<void>();
  const reached = Promise.withResolvers<void>();
  const onResume = (spec: SandboxSpec) => {
    if (spec.image) reached.resolve();
    return hangs.promise;
  };
  const started: (string | undefined)[] = [];
  const driverOf: Driver[] = [];
  const wrapDriver = (driver: Driver) => {
    driverOf.push(driver);
    return withImages([], onResume)(driver);
  };
  await using services = await openTestSessions({ templates, wrapDriver });
  const { id, sandboxId } = await create(services, "works");
  await reached.promise;
  // The lease of a dead server expires.
  services.clock.skip(HOUR);
  await using other = services.another({ driver: withImages(started)(driverOf[0]!) });
  await other.reconcile.finishSteps().finally(hangs.resolve);
  expect(await setupOf(services, id)).toMatchObject({ image: { name: "example.com/works", status: "used" } });
  expect(started).toEqual(["example.com/works"]);
  const response = await services.links.request(sandboxId, { method: "GET", path: "/files/content?path=ran" });
  expect(await text(response.body)).toBe("once\n");
});
