import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { existsSync, globSync, readFileSync, symlinkSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createEngine, type Engine } from "../../server/drivers/docker/engine.ts";

// A Docker Engine of our own: own socket, own data, no network and no touch of the machine's firewall.
export interface TestEngine extends AsyncDisposable {
  socketPath: string;
  image: string;
  // As `systemctl stop docker` and `start`: containers end with the Engine.
  stop(): Promise<void>;
  start(): Promise<void>;
  // A call of the Engine's API, as anybody beside the server could make it.
  call(method: "GET" | "POST" | "DELETE", path: string, body?: object): Promise<unknown>;
  // What the Engine holds whose name has this in it: containers and volumes.
  named(part: string): Promise<string[]>;
}

// Why there can be no Engine here; undefined when there can.
export function dockerMissing(): string | undefined {
  if (process.platform !== "linux") return "the Docker tests start their own dockerd, which needs Linux";
  if (process.getuid?.() !== 0) return "the Docker tests start their own dockerd, which needs root";
  if (!onPath("dockerd")) return "dockerd is not installed (apt-get install docker.io)";
  return undefined;
}

export async function startDockerEngine(): Promise<TestEngine> {
  const folder = await mkdtemp(join(tmpdir(), "berth-dockerd-"));
  const socketPath = join(folder, "docker.sock");
  let daemon: ChildProcess | undefined;

  async function start(): Promise<void> {
    const places = [
      "--data-root",
      join(folder, "data"),
      "--exec-root",
      join(folder, "exec"),
      "--pidfile",
      join(folder, "pid"),
      "--host",
      `unix://${socketPath}`,
    ];
    const network = ["--bridge=none", "--iptables=false", "--ip6tables=false", "--ip-forward=false"];
    // A lower score than our own is not ours to give.
    const child = spawn(onPath("dockerd")!, [...places, ...network, "--oom-score-adjust=0", "--log-level=warn"], {
      stdio: ["ignore", "ignore", "pipe"],
    });
    daemon = child;
    let said = "";
    child.stderr.on("data", (chunk: Buffer) => (said = (said + chunk.toString()).slice(-4000)));
    while (!(await answers(socketPath))) {
      if (child.exitCode !== null) throw new Error(`dockerd ended: ${said}`);
      await sleep(50);
    }
  }

  async function stop(): Promise<void> {
    const child = daemon;
    daemon = undefined;
    if (!child || child.exitCode !== null) return;
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGTERM");
    await ended;
  }

  const call = async (method: "GET" | "POST" | "DELETE", path: string, body?: object) =>
    (await engine.call({ method, path, ...(body ? { body } : {}) })).body;

  await start();
  const engine = createEngine(socketPath);
  const image = "berth-test:1";
  await importImage(engine, folder, image);
  return {
    socketPath,
    image,
    start,
    stop,
    call,
    async named(part) {
      const containers = (await call("GET", "/containers/json?all=1")) as { Names: string[] }[];
      const { Volumes } = (await call("GET", "/volumes")) as { Volumes: { Name: string }[] | null };
      return [...containers.flatMap(({ Names }) => Names), ...(Volumes ?? []).map(({ Name }) => Name)].filter((name) =>
        name.includes(part),
      );
    },
    async [Symbol.asyncDispose]() {
      await engine[Symbol.asyncDispose]();
      await stop();
      await unmountBelow(folder);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

// The image is assembled from this machine's own programs and the libraries that they need: half a second and no
// download, where a Debian root takes more than a minute. What is tested is the Engine and our driver, not a distribution.
const repository = join(import.meta.dirname, "../..");
const PROGRAMS =
  "bash sh env id ls cat cp mv rm ln mkdir rmdir touch chmod stat readlink head tail wc tr cut sort uniq seq sleep date echo printf test true false dd df du tee " +
  "uname whoami tty stty grep sed find xargs ps pgrep pkill kill git rg nproc mount umount unshare";

async function importImage(engine: Engine, folder: string, image: string): Promise<void> {
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
  const [repo = "", tag = ""] = image.split(":");
  await engine.call({ method: "POST", path: "/images/create", query: { fromSrc: "-", repo, tag }, tar: await readFile(tar) });
  await rm(tar);
}

function onPath(command: string): string | undefined {
  const folders = [...(process.env["PATH"] ?? "").split(delimiter), "/usr/sbin", "/sbin"];
  return folders.map((folder) => join(folder, command)).find((path) => existsSync(path));
}

function answers(socketPath: string): Promise<boolean> {
  return new Promise((resolve) => {
    const asked = request({ socketPath, path: "/_ping" }, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    });
    asked.once("error", () => resolve(false));
    asked.end();
  });
}

async function unmountBelow(folder: string): Promise<void> {
  const mounts = readFileSync("/proc/self/mountinfo", "utf8")
    .split("\n")
    .map((line) => line.split(" ")[4] ?? "")
    .filter((path) => path.startsWith(folder));
  for (const path of mounts.toReversed()) execFileSync("umount", ["-l", path]);
}
