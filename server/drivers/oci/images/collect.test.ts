import { mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { describeWith, machine } from "../../../../tests/support/machine.ts";
import { busyboxImage } from "../../../../tests/support/registry/images.ts";
import { registryMissing, startRegistry } from "../../../../tests/support/registry/registry.ts";
import { silentLog } from "../../../log.ts";
import { plainRunner, type FileRunner } from "../../host/file-runner.ts";
import { createImageStore } from "./image-store.ts";
import { pathOfName } from "./pins.ts";

const missing = [...registryMissing, machine.command("skopeo"), machine.command("umoci"), machine.root];

describeWith(missing, "the removal of unused images", () => {
  let dataDir: string;
  const imagesDir = () => join(dataDir, "images");
  const images = () => readdirSync(imagesDir()).filter((entry) => entry.startsWith("sha256-"));
  const signal = () => AbortSignal.timeout(30_000);
  const nothing = { names: new Set<string>(), digests: () => new Set<string>() };

  beforeEach(() => {
    dataDir = mkdtempSync(join(tmpdir(), "berth-collect-"));
    mkdirSync(imagesDir());
  });
  afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

  test("leaves an image that gets a name while others are removed", async () => {
    await using registry = await startRegistry();
    const names = new Map<string, string>();
    let left: string | undefined;
    // Pulls the second image while the first one is deleted.
    const files: FileRunner = {
      ...plainRunner,
      async run(command, args, options) {
        if (left === undefined && args.at(-1)!.includes("-sha256-")) {
          left = names.get(images()[0]!)!;
          await store.pull(left, signal());
        }
        return await plainRunner.run(command, args, options);
      },
    };
    const access = { authFile: registry.authFile, certificatesDir: registry.certificateFolder };
    await using store = createImageStore({ dataDir, files, log: silentLog, registry: access });
    for (const value of ["1", "2"]) {
      const name = await registry.add(`unused${value}`, busyboxImage({ Env: [`A=${value}`] }));
      names.set((await store.ensure(name, signal())).digest.replace(":", "-"), name);
    }
    rmSync(join(imagesDir(), "pins"), { recursive: true });
    await store.collect(nothing);
    expect(images()).toHaveLength(1);
    expect(store.find(left!)).toBeDefined();
  });

  test("forgets failures after an hour, except those of templates", async () => {
    await using store = createImageStore({ dataDir, files: plainRunner, log: silentLog });
    const [asked, kept, recent] = ["docker-archive:asked", "docker-archive:kept", "docker-archive:recent"];
    const hourAgo = new Date(Date.now() - 61 * 60_000);
    for (const name of [asked, kept, recent]) {
      await expect(store.ensure(name, signal())).rejects.toThrow("its name is not valid");
      if (name !== recent) utimesSync(pathOfName(imagesDir(), name, "progress"), hourAgo, hourAgo);
    }
    await store.collect({ ...nothing, names: new Set([kept]) });
    expect([asked, kept, recent].map((name) => store.state(name).state)).toEqual(["absent", "failed", "failed"]);
  });
});
