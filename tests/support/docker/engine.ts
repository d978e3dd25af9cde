import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createEngine } from "../../../server/drivers/docker/engine.ts";
import { imageMissing, importImage } from "./image.ts";
import { machine, type Missing } from "../machine.ts";
import { onPath } from "../on-path.ts";

// A private Docker Engine with its own socket and data folder. It has no network and does not change the machine's firewall.
export interface TestEngine extends AsyncDisposable {
  socketPath: string;
  image: string;
  // Like `systemctl stop docker` and `start`: containers end with the Engine.
  stop(): Promise<void>;
  start(): Promise<void>;
  // Calls the Engine's API, like any other client of the Engine.
  call(method: "GET" | "POST" | "DELETE", path: string, body?: object): Promise<unknown>;
  // Repeats containerd's event that a container was paused or resumed. On a busy machine such an event can arrive when it is
  // no longer true.
  echo(containerId: string, change: "paused" | "resumed"): void;
  // The containers and volumes whose name contains `part`.
  named(part: string): Promise<string[]>;
}

// The reason why this machine cannot run an Engine with our image, or undefined. It waits until the image's root is made, so
// call it at the top of a test file, where no time limit applies.
export async function dockerMissing(): Promise<Missing> {
  return machine.root ?? machine.command("dockerd", "docker.io") ?? (await imageMissing());
}

// gVisor as a second runtime of the Engine. BERTH_TEST_DOCKER_RUNTIME is the path of `runsc`.
export const gvisor = {
  runtime: "runsc",
};

export async function startDockerEngine(): Promise<TestEngine> {
  const folder = await mkdtemp(join(tmpdir(), "berth-dockerd-"));
  const configFile = join(folder, "daemon.json");
  await writeFile(configFile, JSON.stringify(describeConfig()));
  const socketPath = join(folder, "docker.sock");
  let daemon: ChildProcess | undefined;

  async function start(): Promise<void> {
    const places = [
      "--config-file",
      configFile,
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
    // A process cannot give its children a lower OOM score than its own.
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
  await importImage(engine, image);
  return {
    socketPath,
    image,
    start,
    stop,
    call,
    echo(containerId, change) {
      // The Engine starts its own containerd only if the machine runs none.
      const own = join(folder, "exec/containerd/containerd.sock");
      const address = existsSync(own) ? own : "/run/containerd/containerd.sock";
      const args = ["--address", address, "publish", "--namespace", "moby", "--topic", `/tasks/${change}`];
      execFileSync(onPath("containerd")!, args, { input: describeEvent(containerId, change) });
    },
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

// The configuration that docs/deploy.md recommends.
function describeConfig(): object {
  const path = process.env["BERTH_TEST_DOCKER_RUNTIME"];
  return path === undefined ? {} : { runtimes: { [gvisor.runtime]: { path, runtimeArgs: ["--host-uds=all", "--network=none"] } } };
}

// An event of containerd in Protocol Buffers: its type, and the container inside. Every field is shorter than 128 bytes.
function describeEvent(containerId: string, change: "paused" | "resumed"): Buffer {
  const field = (number: number, value: Buffer) => Buffer.concat([Buffer.from([number * 8 + 2, value.length]), value]);
  const type = `containerd.events.Task${change === "paused" ? "Paused" : "Resumed"}`;
  return Buffer.concat([field(1, Buffer.from(type)), field(2, field(1, Buffer.from(containerId)))]);
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
