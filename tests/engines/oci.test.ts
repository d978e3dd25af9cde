import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import { machine, testWith } from "../support/machine.ts";
import { busyboxImage } from "../support/registry/images.ts";
import { registryMissing, startRegistry } from "../support/registry/registry.ts";
import { startBerth } from "../support/servers/berth.ts";
import { imageConfig, sharedTemplate, templateJourney } from "./template-journey.ts";
import { startWorld } from "./world.ts";

const missing = [await machine.oci(), machine.root, machine.imageTools(), ...registryMissing];

// docker.test.ts and kubernetes.test.ts run the same journey.
testWith(missing, "a template gives the same sandbox on oci as on other engines", async () => {
  await using stack = new AsyncDisposableStack();
  const folder = stack.adopt(mkdtempSync(join(tmpdir(), "berth-template-")), (path) => rmSync(path, { recursive: true }));
  const registry = stack.use(await startRegistry());
  const image = await registry.add("tools", busyboxImage(imageConfig));
  writeFileSync(join(folder, "templates.json"), JSON.stringify(sharedTemplate(image)));
  const world = stack.use(await startWorld());
  const env = {
    BERTH_DRIVER: "oci",
    BERTH_POOL_SIZE: "0",
    BERTH_TEMPLATES: join(folder, "templates.json"),
    BERTH_EGRESS_ALLOW: world.address,
    BERTH_REGISTRY_AUTH: registry.authFile,
    BERTH_REGISTRY_CERTIFICATES: registry.certificateFolder,
  };
  const berth = stack.use(await startBerth(env));
  // Creates get 503 until the image is there.
  const create = { externalUserId: "user-1", template: "tools" };
  const statuses = new Set<number>();
  await expect
    .poll(async () => statuses.add((await berth.api.call("POST", "/api/b2b/sessions", create)).status).has(201), {
      timeout: 60_000,
      interval: 500,
    })
    .toBe(true);
  expect([...statuses].filter((status) => status !== 503)).toEqual([201]);
  await templateJourney(berth, { world, canFork: true, user: imageConfig.User });
});
