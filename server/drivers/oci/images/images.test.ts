import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { newId, type Template } from "@berth/contract";
import { afterAll, beforeAll, expect, test } from "vitest";
import { describeWith, machine } from "../../../../tests/support/machine.ts";
import { makeLayer, writeOciLayout } from "../../../../tests/support/registry/image.ts";
import { busyboxImage, debianImage } from "../../../../tests/support/registry/images.ts";
import { registryMissing, startRegistry, type TestRegistry } from "../../../../tests/support/registry/registry.ts";
import { daemonRuntime } from "../../../../tests/support/runtime.ts";
import { silentLog } from "../../../log.ts";
import { DEFAULT_TEMPLATE } from "../../../templates.ts";
import type { Driver } from "../../driver.ts";
import { readMountPoints } from "../../host/mounts.ts";
import { exec } from "../../testing/driver.suite.ts";
import { plainRunner } from "../../host/file-runner.ts";
import { createOciDriver } from "../oci.ts";
import { probeOci } from "../probe.ts";
import { createImageStore } from "./image-store.ts";

const probe = await probeOci();
const missing = [
  ...registryMissing,
  machine.command("skopeo"),
  machine.command("umoci"),
  machine.root,
  probe.usable ? undefined : probe.reason,
];

describeWith(missing, "sandboxes in images", () => {
  let registry: TestRegistry;
  let dataDir: string;
  let driver: Driver;
  const token = "a token";
  const tokenHash = createHash("sha256").update(token).digest("hex");
  const signal = () => AbortSignal.timeout(30_000);
  const access = () => ({ authFile: registry.authFile, certificatesDir: registry.certificateFolder });

  beforeAll(async () => {
    registry = await startRegistry();
    dataDir = mkdtempSync(join(tmpdir(), "berth-images-data-"));
    if (!probe.usable) throw new Error(probe.reason);
    driver = createOciDriver({
      dataDir,
      runtimeDir: await daemonRuntime(),
      log: silentLog,
      runtime: probe.runtime,
      boundDisks: probe.boundDisks,
      images: { registry: access() },
      imageNames: new Set(),
    });
  });
  afterAll(async () => {
    await driver[Symbol.asyncDispose]();
    const left = readMountPoints().filter((point) => point.startsWith(dataDir));
    await registry[Symbol.asyncDispose]();
    if (left.length > 0) throw new Error(`still mounted: ${left.join(", ")}`);
    rmSync(dataDir, { recursive: true, force: true });
  });

  const inSandbox = async (image: string, command: string, fields: Partial<Template> = {}): Promise<string> => {
    const id = newId("sbx", Date.now());
    try {
      await driver.create({ id, tokenHash, template: { ...DEFAULT_TEMPLATE, image, diskMb: 64, ...fields } }, signal());
      return await exec(driver, id, command, token);
    } finally {
      await driver.destroy(id, signal());
    }
  };

  // All tests use one image, because it takes a second to unpack.
  const image = () => debianImage({ Env: ["PATH=/opt/tools:/usr/bin", "GREETING=hello"], User: "1234" });

  test("a create says that the image is being fetched, and later creates run in it", async () => {
    const name = await registry.add("debian", await image());
    await expect(inSandbox(name, "true")).rejects.toMatchObject({ code: "image_fetching", details: [{ field: "image" }] });
    await driver.images!.fetch!(name, signal());
    const command =
      "cat /etc/debian_chroot; echo; echo $GREETING $PATH; (echo x > /etc/new) 2>/dev/null || echo kept; echo y > file; cat file";
    expect(await inSandbox(name, command)).toMatch(/^berth-test\nhello \/opt\/tools:\/usr\/bin:.*\nkept\ny\n$/);
    expect(readdirSync(join(dataDir, "images/drafts"))).toEqual([]);
  });

  test("an image comes from a file, and its user has the files of the session, also if the root is writable", async () => {
    const layout = join(dataDir, "layout");
    await writeOciLayout(layout, await image());
    const name = `oci:${layout}:latest`;
    await driver.images!.fetch!(name, signal());
    const command =
      "id; whoami; stat -c '%U %n' /etc /usr/bin/env /workspace ~; touch file; stat -c %u:%g file; cat /proc/self/status | grep CapBnd";
    const expected = [
      "uid=1234(berth-user) gid=1234(berth-user) groups=1234(berth-user)",
      "berth-user",
      "root /etc",
      "root /usr/bin/env",
      "berth-user /workspace",
      "berth-user /home/user",
      "1234:1234",
      expect.stringMatching(/^CapBnd:\s0+$/),
      "",
    ];
    expect((await inSandbox(name, command)).split("\n")).toEqual(expected);
    if (driver.traits.writableRoots) expect((await inSandbox(name, command, { writableRoot: true })).split("\n")).toEqual(expected);
  });

  test("a sandbox starts in an image whose folders are closed to others", async () => {
    const layer = makeLayer(
      ["./", "home/", "opt/", "run/", "workspace/"].map((path) => ({ path, type: "folder", mode: 0o700, uid: 5, gid: 5 })),
    );
    const name = await registry.add("closed", busyboxImage({}, [layer]));
    await driver.images!.fetch!(name, signal());
    expect(await inSandbox(name, "echo x > file; cd; echo y > file; cat file /workspace/file")).toBe("y\nx\n");
  });

  test("a sandbox that is stopped starts again in another image, and keeps its files", async () => {
    const name = await registry.add("other", await image());
    await driver.images!.fetch!(name, signal());
    const spec = { id: newId("sbx", Date.now()), tokenHash, template: { ...DEFAULT_TEMPLATE, diskMb: 64 } };
    try {
      await driver.create(spec, signal());
      await exec(driver, spec.id, "echo mine > file", token);
      await driver.hibernate(spec.id, signal());
      await driver.resume({ ...spec, image: name }, signal());
      expect(await exec(driver, spec.id, "id -u; cat /etc/debian_chroot file; stat -c %u file", token)).toBe(
        "1234\nberth-testmine\n1234\n",
      );
    } finally {
      await driver.destroy(spec.id, signal());
    }
  });

  test("a sandbox from a snapshot has the image of the snapshot, also if its name stands for another one and nothing else uses it", async () => {
    const name = await registry.add("moving", await image());
    await driver.images!.fetch!(name, signal());
    const specOf = (id = newId("sbx", Date.now())) => ({ id, tokenHash, template: { ...DEFAULT_TEMPLATE, image: name, diskMb: 64 } });
    const [first, fork, other] = [specOf(), specOf(), specOf()];
    const snapshot = newId("snp", Date.now());
    const greeting = ({ id }: typeof first) => exec(driver, id, "echo $GREETING", token);
    try {
      await driver.create(first, signal());
      await driver.takeSnapshot(first.id, snapshot, signal());
      await registry.add("moving", await debianImage({ Env: ["PATH=/usr/bin", "GREETING=later"] }));
      await using store = createImageStore({ dataDir, files: plainRunner, log: silentLog, registry: access() });
      const { digest } = store.find(name)!;
      await store.pull(name, signal());
      await driver.destroy(first.id, signal());
      await driver.create({ ...fork, snapshot }, signal());
      await driver.create(other, signal());
      expect([await greeting(fork), await greeting(other)]).toEqual(["hello\n", "later\n"]);
      await driver.destroy(fork.id, signal());
      expect(store.find(name, digest)).toBeDefined();
    } finally {
      for (const { id } of [first, fork, other]) await driver.destroy(id, signal());
      await driver.deleteSnapshot(snapshot, signal());
    }
  });
});
