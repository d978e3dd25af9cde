import { execFileSync } from "node:child_process";
import { existsSync, globSync, symlinkSync } from "node:fs";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import type { Engine } from "../../server/drivers/docker/engine.ts";
import { findDebianRoot } from "./debian-root.ts";

// The sandboxes' image in the Docker tests, made in one of two ways.
const repository = join(import.meta.dirname, "../..");
const PROGRAMS =
  "bash sh env id ls cat cp mv rm ln mkdir rmdir touch chmod stat readlink head tail wc tr cut sort uniq seq sleep date echo printf test true false dd df du tee " +
  "uname whoami tty stty grep sed find xargs ps pgrep pkill kill git rg nproc mount umount unshare";

// From the Debian root, as a distribution has it; false when there is none within this time.
export async function importDebian(engine: Engine, image: string, atMostMs: number): Promise<boolean> {
  const tar = await findDebianRoot(atMostMs);
  if (tar === null) return false;
  await load(engine, image, tar);
  return true;
}

// From this machine's own programs and the libraries that they need.
export async function importPrograms(engine: Engine, folder: string, image: string): Promise<void> {
  const root = join(folder, "image");
  for (const name of [
    "usr/bin",
    "usr/lib",
    "usr/lib64",
    "workspace",
    "home/user",
    "tmp",
    "opt/berth",
    "run/berth",
    "run/berth-egress",
    "etc",
    "proc",
    "sys",
    "dev",
  ])
    await mkdir(join(root, name), { recursive: true });
  for (const name of ["bin", "lib", "lib64"]) symlinkSync(`usr/${name}`, join(root, name));
  await writeFile(join(root, "etc/passwd"), "root:x:0:0:root:/root:/bin/sh\nuser:x:1000:1000:user:/home/user:/bin/bash\n");
  await writeFile(join(root, "etc/group"), "root:x:0:\nuser:x:1000:\n");
  const programs = PROGRAMS.split(" ").flatMap((name) => onPath(name) ?? []);
  // The daemon's own Node and its native part are mounted, but their libraries are the image's.
  const mounted = [
    process.execPath,
    ...globSync("node_modules/@lydell/*/*.node", { cwd: repository }).map((path) => join(repository, path)),
  ];
  const libraries = [
    ...execFileSync("sh", ["-c", 'ldd "$@" 2> /dev/null || true', "sh", ...programs, ...mounted], { encoding: "utf8" }).matchAll(
      /(\/\S+\.so\S*)/g,
    ),
  ].map((match) => match[1]!);
  const tar = join(folder, "image.tar");
  execFileSync("tar", ["-C", root, "--owner=0", "--group=0", "-cf", tar, "."]);
  const transforms = ["bin", "lib", "lib64"].map((name) => `s,^/${name}/,usr/${name}/,`);
  execFileSync("tar", ["-P", "-rhf", tar, "--transform", `${transforms.join(";")};s,^/,,`, ...new Set([...programs, ...libraries])], {
    stdio: "ignore",
  });
  await rm(root, { recursive: true });
  await load(engine, image, tar);
  await rm(tar);
}

async function load(engine: Engine, image: string, tar: string): Promise<void> {
  const [repo = "", tag = ""] = image.split(":");
  await engine.call({ method: "POST", path: "/images/create", query: { fromSrc: "-", repo, tag }, tar: await readFile(tar) });
}

export function onPath(command: string): string | undefined {
  const folders = [...(process.env["PATH"] ?? "").split(delimiter), "/usr/sbin", "/sbin"];
  return folders.map((folder) => join(folder, command)).find((path) => existsSync(path));
}
