import { execFileSync, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { existsSync, globSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { describeWith, machine } from "../../../../tests/support/machine.ts";
import {
  bombImage,
  brokenImages,
  escapingImages,
  linkingImages,
  manyFilesImage,
  sparseImage,
  specialFilesImage,
} from "../../../../tests/support/registry/hostile-images.ts";
import { makeLayer, withIndex, writeOciLayout, type Image, type Layer } from "../../../../tests/support/registry/image.ts";
import { busyboxImage, debianImage, folders, layeredImage, whiteoutImage } from "../../../../tests/support/registry/images.ts";
import { registryMissing, startRegistry, type TestRegistry } from "../../../../tests/support/registry/registry.ts";
import type { TarEntry } from "../../../../tests/support/registry/tar.ts";
import { readFileIfReadable } from "../../../bounded-io/read-small-file.ts";
import { silentLog } from "../../../log.ts";
import { plainRunner } from "../../host/file-runner.ts";
import { resolveImage } from "./fetching/copy-image.ts";
import { parseImageName } from "./fetching/image-source.ts";
import { createProgress } from "./image-state.ts";
import { createImageStore, type ImageStore, type ImageStoreOptions } from "./image-store.ts";

const missing = [...registryMissing, machine.command("skopeo"), machine.command("umoci"), machine.root];
const MiB = 2 ** 20;
const numbered = (count: number) => Array.from({ length: count }, (_, at) => `folder${at}`);
const processesWith = (text: string) => globSync("/proc/[0-9]*/cmdline").filter((path) => readFileIfReadable(path)?.includes(text));

describeWith(missing, "the image store", () => {
  let registry: TestRegistry;
  let folder: string;
  let store: ImageStore;
  const signal = () => AbortSignal.timeout(30_000);
  const open = (options: Partial<ImageStoreOptions> = {}) =>
    createImageStore({
      dataDir: join(folder, "data"),
      files: plainRunner,
      log: silentLog,
      registry: { authFile: registry.authFile, certificatesDir: registry.certificateFolder },
      limits: { maxBytes: 64 * MiB, maxFiles: 5000 },
      ...options,
    });
  const images = () => readdirSync(join(folder, "data/images")).filter((name) => name.startsWith("sha256-"));
  const drafts = () => readdirSync(join(folder, "data/images/drafts"));
  // undefined if the image was stored.
  const refusal = async (name: string, used = store): Promise<string | undefined> =>
    await used.ensure(name, signal()).then(
      () => undefined,
      (error: Error) => error.message,
    );

  beforeAll(async () => {
    registry = await startRegistry();
    folder = mkdtempSync(join(tmpdir(), "berth-image-store-"));
    mkdirSync(join(folder, "data"), { mode: 0o700 });
    store = open();
  });
  afterAll(async () => {
    await store[Symbol.asyncDispose]();
    await registry[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true, force: true });
  });

  test("a name keeps its digest until it is pulled, and what nothing uses is removed", async () => {
    const first = busyboxImage({ Env: ["A=1"] });
    const name = await registry.add("moving", withIndex(first));
    const both = await Promise.all([store.ensure(name, signal()), store.ensure(name, signal())]);
    expect(both[0]).toBe(both[1]);
    expect(both[0]).toMatchObject({ digest: withIndex(first).digest, config: { env: { A: "1" } } });
    const second = busyboxImage({ Env: ["A=2"] });
    await registry.add("moving", second);
    expect((await store.ensure(name, signal())).config.env).toEqual({ A: "1" });
    expect((await store.pull(name, signal())).config.env).toEqual({ A: "2" });
    expect(store.find(name, both[0].digest)).toMatchObject({ config: { env: { A: "1" } } });
    const names = new Set([name]);
    await store.collect({ names, digests: () => new Set([both[0].digest]) });
    expect(images()).toHaveLength(2);
    await store.collect({ names, digests: () => new Set() });
    expect(images()).toEqual([second.digest.replace(":", "-")]);
    // Another start.
    await using other = open();
    expect(other.state(name)).toEqual({ state: "ready", digest: second.digest });
  });

  test("an image has its layers, whiteouts, hard links and owners", async () => {
    const layered = await store.ensure(await registry.add("layered", layeredImage()), signal());
    expect(readFileSync(join(layered.root, "data/last"), "utf8")).toBe("59\n");
    const { root } = await store.ensure(await registry.add("whiteouts", whiteoutImage()), signal());
    expect(readdirSync(join(root, "data")).toSorted()).toEqual(["first", "kept", "replaced", "second"]);
    expect(statSync(join(root, "data/first")).nlink).toBe(2);
    const owned = busyboxImage({ User: "app:4242" }, [
      makeLayer([
        { path: "etc/passwd", content: "root:x:0:0::/:/bin/sh\napp:x:33:34::/:/bin/sh\n" },
        { path: "srv/data", content: "", uid: 33, gid: 34 },
      ]),
    ]);
    const stored = await store.ensure(await registry.add("owned", owned), signal());
    expect(stored.config.user).toEqual({ uid: 33, gid: 4242 });
    expect(statSync(join(stored.root, "srv/data"))).toMatchObject({ uid: 33, gid: 34 });
  });

  test("a refused image names the reason, and users and variables are read as engines read them", async () => {
    const passwd = makeLayer([{ path: "etc/passwd", content: "app:x:33:34::/:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n" }]);
    let at = 0;
    const add = (image: Image) => registry.add(`configured${at++}`, image);
    const userOf = async (User: string) => (await store.ensure(await add(busyboxImage({ User }, [passwd])), signal())).config.user;
    expect(await userOf("nobody:nogroup")).toEqual({ uid: 65_534, gid: 65_534 });
    expect(await userOf("app:")).toEqual({ uid: 33, gid: 34 });
    expect(await userOf("0:33")).toBeUndefined();
    const Env = ["NO_VALUE", "=x", "A=b=c", "EMPTY=", "BERTH_X=1", "__proto__=1", "a-b=1"];
    const { config } = await store.ensure(await add(busyboxImage({ Env })), signal());
    expect(Object.entries(config.env)).toEqual([
      ["A", "b=c"],
      ["EMPTY", ""],
      ["__proto__", "1"],
    ]);
    const link = (path: string): TarEntry[] => [{ path, type: "symlink", target: "/etc" }];
    const refusals: [Image, string][] = [
      [busyboxImage({ User: "missing" }, [passwd]), 'it runs as the user "missing", who is not in it'],
      [busyboxImage({ User: "app:missing" }, [passwd]), 'it runs as the user "app:missing", who is not in it'],
      [busyboxImage({ User: "65536" }), 'it runs as the user "65536", whose number is above 65535'],
      [busyboxImage({ User: "app" }, [makeLayer([{ path: "etc/passwd", type: "fifo" }])]), 'it runs as the user "app", who is not in it'],
      [busyboxImage({ User: "app" }, [makeLayer(link("etc/passwd"))]), 'it runs as the user "app", who is not in it'],
      [
        busyboxImage({}, [makeLayer([{ path: "big", uid: 65_536 }])]),
        "one of its files belongs to a user or group whose number is above 65535",
      ],
      [busyboxImage({}, [makeLayer(link("workspace"))]), "a link or a file is where Berth needs a folder, such as /home/user"],
      [busyboxImage({}, [makeLayer([{ path: "home/user" }])]), "a link or a file is where Berth needs a folder, such as /home/user"],
      [
        busyboxImage({}, [makeLayer([...folders("opt"), ...link("opt/berth")])]),
        "a link or a file is where Berth needs a folder, such as /home/user",
      ],
      [busyboxImage({}, [makeLayer(folders(...numbered(300)))]), "it has more than 256 files and folders at its top"],
      [busyboxImage({}, [makeLayer([{ path: "caf\u00e9" }])]), "a file at its top has a name that is not UTF-8"],
    ];
    for (const [image, reason] of refusals) expect(await refusal(await add(image))).toBe(`The image could not be used: ${reason}`);
    expect(drafts()).toEqual([]);
  });

  test("a link, a folder or a large file instead of the list of users adds no name, and changes nothing outside", async () => {
    const before = readFileSync("/etc/passwd", "utf8");
    const large = "a:x:1:1:::\n".repeat(200_000);
    const layers: Layer[][] = [
      [makeLayer([{ path: "etc/passwd", type: "symlink", target: "/etc/passwd" }])],
      [makeLayer([{ path: "etc/.wh.passwd" }]), makeLayer(folders("etc/passwd"))],
      [makeLayer([{ path: ".wh.etc" }]), makeLayer([{ path: "etc", type: "symlink", target: "/etc" }])],
      [makeLayer([{ path: "etc/passwd", content: large }])],
    ];
    for (const [at, more] of layers.entries()) await store.ensure(await registry.add(`passwd${at}`, busyboxImage({}, more)), signal());
    expect(readFileSync("/etc/passwd", "utf8")).toBe(before);
  });

  test("a fetch of an image with an index knows how much there is", async () => {
    const image = busyboxImage();
    const source = parseImageName(await registry.add("sized", withIndex(image)));
    const draft = join(folder, "sized");
    mkdirSync(join(draft, "work"), { recursive: true });
    const access = { authFile: registry.authFile, certificatesDir: registry.certificateFolder };
    const bytes = image.layers.reduce((sum, { size }) => sum + size, 0);
    expect(await resolveImage(source, draft, access, signal())).toEqual({ digest: withIndex(image).digest, bytes });
  });

  test("hostile layers write nothing outside, link to nothing outside, and have no devices or set-uid programs", async () => {
    const outside = join(folder, "outside");
    const secret = join(folder, "secret");
    writeFileSync(secret, "secret\n", { mode: 0o644 });
    // One image with all of their layers.
    const layers = Object.values(escapingImages(outside)).flatMap((image) => image.layers.slice(1));
    await store.ensure(await registry.add("escaping", busyboxImage({}, layers)), signal());
    expect(existsSync(outside)).toBe(false);
    for (const [at, [what, image]] of Object.entries(linkingImages(secret)).entries())
      expect(`${what}: ${await refusal(await registry.add(`linking${at}`, image))}`).toBe(
        `${what}: The image could not be used: one of its layers links to a file that the image does not have`,
      );
    expect(readFileSync(secret, "utf8")).toBe("secret\n");
    expect(statSync(secret).nlink).toBe(1);
    const { root } = await store.ensure(await registry.add("special", specialFilesImage()), signal());
    expect(readdirSync(join(root, "special"))).toEqual(["mem", "set-uid"]);
    expect(statSync(join(root, "special/mem"))).toMatchObject({ size: 0, rdev: 0 });
    expect(statSync(join(root, "special/set-uid")).mode & 0o7777).toBe(0o755);
  });

  test("broken and oversized images are refused with a sentence, and nothing is left", async () => {
    const before = images();
    for (const [at, [what, image]] of Object.entries(brokenImages()).entries()) {
      const name = await registry.add(`broken${at}`, image);
      expect(`${what}: ${await refusal(name)}`).toMatch(/: The image could not be (fetched|used): /);
      expect(store.state(name)).toMatchObject({ state: "failed" });
    }
    const wrong = `${registry.host}/layered@sha256:${"0".repeat(64)}`;
    expect(await refusal(wrong)).toBe("The image could not be fetched: its registry does not have it, or does not give it to this server");
    expect(await refusal(await registry.add("bomb", bombImage(64)))).toMatch(/larger than 64 MiB|file that is too large/);
    expect(await refusal(await registry.add("sparse", sparseImage()))).toContain("one of its layers has an entry that umoci does not know");
    expect(await refusal(await registry.add("files", manyFilesImage(20_000)))).toContain("it has more than 5000 files");
    expect(await refusal("docker-archive:relative.tar")).toContain("its name is not valid");
    expect(await refusal("localhost/berth-build:0123")).toContain("`berth template build` builds it again");
    expect(await refusal("docker://name;rm")).toContain("its name is not valid");
    expect(await refusal(`oci:${join(folder, "absent")}:latest`)).toMatch(/^The image could not be fetched/);
    expect(images()).toEqual(before);
    expect(drafts()).toEqual([]);
  });

  test("a full disk, a stalled registry and a missing password are reported", async () => {
    const name = await registry.add("small", busyboxImage());
    const dataDir = join(folder, "full");
    mkdirSync(dataDir);
    // The first image does not fit while it is fetched, the second while it is unpacked.
    const bomb = await registry.add("filling", bombImage(8));
    for (const [image, size] of [
      [name, "2m"],
      [bomb, "24m"],
    ] as const) {
      execFileSync("mount", ["-t", "tmpfs", "-o", `size=${size}`, "tmpfs", dataDir]);
      try {
        await using full = open({ dataDir, diskReserveMib: 1, limits: {} });
        expect(await refusal(image, full)).toMatch(/the disk( of the server)? is full/);
        expect(readdirSync(join(dataDir, "images/drafts"))).toEqual([]);
      } finally {
        execFileSync("umount", [dataDir]);
      }
    }
    await using anonymous = open({ dataDir, registry: { certificatesDir: registry.certificateFolder } });
    expect(await refusal(name, anonymous)).toContain("does not give it to this server");
    const silent = createServer((socket) => socket.on("error", () => {})).listen(0, "127.0.0.1");
    await new Promise((resolve) => silent.once("listening", resolve));
    const { port } = silent.address() as { port: number };
    await using impatient = open({ dataDir, registry: {}, limits: { stallMs: 500 } });
    expect(await refusal(`127.0.0.1:${port}/small:latest`, impatient)).toContain("its registry does not answer");
    silent.close();
  });

  test("files that a power cut or a full disk has left empty count as missing", async () => {
    const name = await registry.add("cut", busyboxImage({ Env: ["CUT=1"] }));
    const { digest } = await store.ensure(name, signal());
    const pins = join(folder, "data/images/pins");
    const pinOf = createHash("sha256").update(name).digest("hex");
    for (const path of [join(pins, `${pinOf}.json`), join(pins, `${pinOf}.progress`)]) writeFileSync(path, "");
    await using other = open();
    expect([other.find(name), other.state(name)]).toEqual([undefined, { state: "absent" }]);
    writeFileSync(join(folder, "data/images", digest.replace(":", "-"), "image.json"), "");
    expect(await other.ensure(name, signal())).toMatchObject({ digest, config: { env: { CUT: "1" } } });
    // A process cannot note how far it is.
    writeFileSync(join(folder, "blocked"), "");
    expect(() => createProgress(join(folder, "blocked")).set(name, { percent: 1 })).not.toThrow();
  });

  test("a fetch that is killed leaves no process, and a server that runs removes its files", async () => {
    const name = await registry.add("killed", await debianImage({ Env: ["KILLED=1"] }));
    await using server = open({ limits: {} });
    await server.collect({ names: new Set(), digests: () => new Set() });
    // The second is killed while the image is unpacked.
    for (const stage of ["work/layout/blobs", "root/usr"]) {
      const script = join(import.meta.dirname, "testing/fetch-until-killed.ts");
      const args = [join(folder, "data"), name, registry.authFile, registry.certificateFolder];
      const fetching = spawn(process.execPath, [script, ...args], { stdio: ["ignore", "ignore", "inherit"] });
      await expect.poll(() => globSync(`${folder}/data/images/drafts/*/${stage}`), { timeout: 20_000, interval: 5 }).toHaveLength(1);
      const [draft = ""] = drafts();
      await expect.poll(() => server.state(name).state, { interval: 5 }).toBe("fetching");
      fetching.kill("SIGKILL");
      await once(fetching, "exit");
      await expect.poll(() => processesWith(draft)).toEqual([]);
      expect(server.state(name)).toEqual({ state: "absent" });
      expect(drafts()).toEqual([draft]);
      await server.collect({ names: new Set([name]), digests: () => new Set() });
      expect(drafts()).toEqual([]);
    }
    expect(await server.ensure(name, signal())).toMatchObject({ config: { env: { KILLED: "1" } } });
  });

  test("drafts of a process that has died are removed, and an archive gets the name of its caller", async () => {
    // The second has an id that another process has now.
    for (const owner of ["999999999.1", `${process.pid}.1`])
      mkdirSync(join(folder, `data/images/drafts/${owner}-left/root/usr`), { recursive: true });
    await using other = open();
    await writeOciLayout(join(folder, "layout"), busyboxImage());
    const archive = join(folder, "image.tar");
    execFileSync("skopeo", ["copy", "--quiet", `oci:${join(folder, "layout")}:latest`, `docker-archive:${archive}`]);
    const stored = await other.importArchive(archive, "built:1", signal());
    expect(other.find("built:1")).toEqual(stored);
    expect(existsSync(join(stored.root, "bin/busybox"))).toBe(true);
    expect(drafts()).toEqual([]);
  });
});
