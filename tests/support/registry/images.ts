import { execFileSync } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { basename } from "node:path";
import { debianRoot } from "../docker/debian-root.ts";
import { machine } from "../machine.ts";
import { cachedLayer, makeImage, makeLayer, type Image, type ImageConfig, type Layer } from "./image.ts";
import type { TarEntry } from "./tar.ts";

// The images that tests find in a registry. Their files come from packages of the machine.

// The package `busybox` has the same command, with libraries.
export const busyboxMissing = machine.file("/usr/share/doc/busybox-static", "busybox-static");
const BUSYBOX = "/bin/busybox";
const PASSWD = "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n";
const DEFAULT_PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

// bash, coreutils, git and the other programs of a small Debian. Its user 1000 is called `user`.
export async function debianImage(config: ImageConfig = {}): Promise<Image> {
  const layer = await cachedLayer("debian", await debianRoot());
  return makeImage([layer], { Env: [DEFAULT_PATH], Cmd: ["bash"], ...config });
}

// The layout of Alpine: musl is the only C library, and BusyBox is every program. There is no bash.
export function muslImage(): Image {
  return makeImage([busyboxLayer(), muslLayer()], { Env: [DEFAULT_PATH], Cmd: ["/bin/sh"] });
}

// The smallest image with a shell.
export function busyboxImage(config: ImageConfig = {}, more: readonly Layer[] = []): Image {
  return makeImage([busyboxLayer(), ...more], { Env: [DEFAULT_PATH], Cmd: ["sh"], ...config });
}

// One static program, and no shell.
export function distrolessImage(): Image {
  const layer = makeLayer([
    ...folders("etc", "usr", "usr/bin", "home", "tmp"),
    { path: "etc/passwd", content: `${PASSWD}nonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin\n` },
    { path: "etc/group", content: "root:x:0:\nnonroot:x:65532:\n" },
    { path: "home/nonroot", type: "folder", uid: 65532, gid: 65532, mode: 0o700 },
    // BusyBox runs the applet that its file name names.
    { path: "usr/bin/date", content: readFileSync(BUSYBOX), mode: 0o755 },
  ]);
  return makeImage([layer], {
    Env: [DEFAULT_PATH],
    User: "nonroot",
    Entrypoint: ["/usr/bin/date"],
    WorkingDir: "/home/nonroot",
  });
}

// 60 layers. Each adds a file and changes one that all of them have.
export function layeredImage(): Image {
  const more = Array.from({ length: 59 }, (_, index) =>
    makeLayer([
      ...folders("data"),
      { path: `data/${index + 1}`, content: `${index + 1}\n` },
      { path: "data/last", content: `${index + 1}\n` },
    ]),
  );
  return busyboxImage({}, more);
}

// The upper layer removes `data/removed`, everything that the lower one had in `data/replaced`, and one of two hard links.
export function whiteoutImage(): Image {
  const lower = makeLayer([
    ...folders("data", "data/replaced"),
    { path: "data/kept", content: "kept\n" },
    { path: "data/removed", content: "removed\n" },
    { path: "data/replaced/lower", content: "lower\n" },
    { path: "data/first", content: "one file, two names\n" },
    { path: "data/second", type: "hardlink", target: "data/first" },
    { path: "data/third", type: "hardlink", target: "data/first" },
  ]);
  const upper = makeLayer([
    ...folders("data", "data/replaced"),
    { path: "data/.wh.removed" },
    { path: "data/.wh.third" },
    { path: "data/replaced/.wh..wh..opq" },
    { path: "data/replaced/upper", content: "upper\n" },
  ]);
  return busyboxImage({}, [lower, upper]);
}

export const folders = (...paths: string[]): TarEntry[] => paths.map((path) => ({ path: `${path}/`, type: "folder" }));

let busybox: Layer | undefined;

const busyboxLayer = () => (busybox ??= makeBusyboxLayer());

function makeBusyboxLayer(): Layer {
  const applets = execFileSync(BUSYBOX, ["--list"], { encoding: "utf8" }).trim().split("\n");
  return makeLayer([
    ...folders("bin", "etc", "root", "usr", "usr/bin", "home"),
    { path: "tmp/", type: "folder", mode: 0o1777 },
    { path: "etc/passwd", content: PASSWD },
    { path: "etc/group", content: "root:x:0:\nnogroup:x:65534:\n" },
    { path: "etc/os-release", content: 'ID=test\nPRETTY_NAME="BusyBox of the tests"\n' },
    { path: "bin/busybox", content: readFileSync(BUSYBOX), mode: 0o755 },
    ...applets
      .filter((name) => name !== "busybox")
      .map((name) => ({ path: `bin/${name}`, type: "symlink" as const, target: "/bin/busybox" })),
  ]);
}

function muslLayer(): Layer {
  const library = globSync("/usr/lib/*-linux-musl/libc.so")[0] ?? globSync("/lib/*-linux-musl/libc.so")[0]!;
  const loader = `lib/${basename(globSync("/lib/ld-musl-*.so.1")[0]!)}`;
  return makeLayer([
    ...folders("lib"),
    { path: loader, content: readFileSync(library), mode: 0o755 },
    // As in Alpine, the loader lists what a program is linked with.
    { path: "usr/bin/ldd", type: "symlink", target: `/${loader}` },
  ]);
}
