import { execFile } from "node:child_process";
import { existsSync, readFileSync, statSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { describeWith, machine } from "../machine.ts";
import { brokenImages, bombImage, manyFilesImage, specialFilesImage } from "./hostile-images.ts";
import { withIndex, writeOciLayout } from "./image.ts";
import { busyboxImage, debianImage, distrolessImage, layeredImage, muslImage, whiteoutImage } from "./images.ts";
import { registryMissing, startRegistry, type TestRegistry } from "./registry.ts";

const run = promisify(execFile);
const needs = [...registryMissing, machine.root, machine.imageTools(), machine.command("dpkg-query", "dpkg")];

// skopeo and umoci confirm what other tests rely on.
describeWith(needs, "the registry of the tests", () => {
  let registry: TestRegistry;
  let folder: string;

  beforeAll(async () => {
    registry = await startRegistry();
    folder = await mkdtemp(join(tmpdir(), "berth-images-"));
  });
  afterAll(async () => {
    await registry[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
  });

  const login = () => ["--authfile", registry.authFile, "--cert-dir", registry.certificateFolder];
  const inspect = async (name: string, ...options: string[]) =>
    JSON.parse((await run("skopeo", ["inspect", ...options, `docker://${name}`])).stdout) as Record<string, unknown>;
  const copy = async (name: string, tag: string) =>
    run("skopeo", [
      "copy",
      "--quiet",
      "--src-authfile",
      registry.authFile,
      "--src-cert-dir",
      registry.certificateFolder,
      `docker://${name}`,
      `oci:${folder}/layout:${tag}`,
    ]);
  const unpack = async (name: string, tag: string) => {
    await copy(name, tag);
    await run("umoci", ["raw", "unpack", "--image", `${folder}/layout:${tag}`, join(folder, tag)]);
    return join(folder, tag);
  };

  test("asks for a password and has a certificate of its own", async () => {
    const name = await registry.add("small", busyboxImage());
    await expect(inspect(name, "--cert-dir", registry.certificateFolder)).rejects.toThrow(/authentication required|unauthorized/);
    await expect(inspect(name, "--authfile", registry.authFile)).rejects.toThrow(/certificate/);
    expect(await inspect(name, ...login())).toMatchObject({ Digest: busyboxImage().digest });
  });

  test("skopeo and umoci read the images, with an index, 60 layers, whiteouts and hard links", async () => {
    const musl = await unpack(await registry.add("musl", withIndex(muslImage())), "musl");
    expect((await run("chroot", [musl, "/bin/sh", "-c", "ldd /bin/busybox 2>&1; echo $((6 * 7))"])).stdout).toContain("42\n");
    const layered = await unpack(await registry.add("layered", layeredImage()), "layered");
    expect([readFileSync(`${layered}/data/last`, "utf8"), existsSync(`${layered}/data/1`)]).toEqual(["59\n", true]);
    const data = join(await unpack(await registry.add("whiteouts", whiteoutImage()), "whiteouts"), "data");
    expect(["kept", "removed", "replaced/lower", "replaced/upper", "third"].filter((name) => existsSync(join(data, name)))).toEqual([
      "kept",
      "replaced/upper",
    ]);
    expect(statSync(join(data, "first")).ino).toBe(statSync(join(data, "second")).ino);
    const distroless = await unpack(await registry.add("distroless", distrolessImage()), "distroless");
    expect((await run("chroot", [distroless, "/usr/bin/date", "+%Y"])).stdout).toMatch(/^\d{4}\n$/);
    expect(existsSync(`${distroless}/bin/sh`)).toBe(false);
    const special = await unpack(await registry.add("special", specialFilesImage()), "special");
    expect(statSync(`${special}/special/mem`).isCharacterDevice()).toBe(true);
  });

  test("an image has its configuration, and a tag can move to another image", async () => {
    const config = { Env: ["GREETING=hello"], WorkingDir: "/srv", User: "1234" };
    const name = await registry.add("moving", await debianImage(config));
    expect(await inspect(name, "--config", ...login())).toMatchObject({ config });
    await registry.add("moving", busyboxImage());
    expect(await inspect(name, ...login())).toMatchObject({ Digest: busyboxImage().digest });
  });

  test("broken images are refused, bombs are small, and a stopped registry cannot be reached", async () => {
    for (const [what, image] of Object.entries(brokenImages())) {
      const name = await registry.add("broken", image);
      // skopeo does not compare sizes, and what a layer unpacks to is known only when it is unpacked.
      const result = await (/size|unpacks|no archive/.test(what) ? unpack(name, "broken") : copy(name, "broken")).then(
        () => "read",
        () => "refused",
      );
      expect(`${what}: ${result}`).toBe(`${what}: refused`);
      await rm(join(folder, "broken"), { recursive: true, force: true });
    }
    expect(bombImage(64).layers[0]!.size).toBeLessThan(2 ** 21);
    expect(manyFilesImage(20_000).layers[0]!.size).toBeLessThan(2 ** 21);
    await writeOciLayout(join(folder, "written"), busyboxImage());
    expect((await run("skopeo", ["inspect", `oci:${folder}/written:latest`])).stdout).toContain(busyboxImage().digest);
    const name = await registry.add("small", busyboxImage());
    await registry.stop();
    await expect(inspect(name, ...login())).rejects.toThrow(/refused/);
    await registry.start();
    expect(await inspect(name, ...login())).toMatchObject({ Digest: busyboxImage().digest });
  });
});
