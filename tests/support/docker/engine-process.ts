import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { onPath } from "../on-path.ts";

// A private Docker Engine with its own socket and data folder. It has no network and does not change the machine's firewall.
export interface EngineProcess extends AsyncDisposable {
  folder: string;
  dataRoot: string;
  socketPath: string;
  // Like `systemctl stop docker` and `start`: containers end with the Engine.
  stop(): Promise<void>;
  start(): Promise<void>;
}

// `config` is the content of daemon.json. `prepare` runs before the first start.
export async function startEngineProcess(
  config: object = {},
  prepare: (dataRoot: string) => Promise<void> = async () => {},
): Promise<EngineProcess> {
  const folder = await mkdtemp(join(tmpdir(), "berth-dockerd-"));
  const dataRoot = join(folder, "data");
  const configFile = join(folder, "daemon.json");
  await writeFile(configFile, JSON.stringify(config));
  const socketPath = join(folder, "docker.sock");
  let daemon: ChildProcess | undefined;

  async function start(): Promise<void> {
    const places = [
      "--config-file",
      configFile,
      "--data-root",
      dataRoot,
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
    while (!(await engineAnswers(socketPath))) {
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

  await prepare(dataRoot);
  await start();
  return {
    folder,
    dataRoot,
    socketPath,
    start,
    stop,
    async [Symbol.asyncDispose]() {
      await stop();
      await unmountBelow(folder);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

export function engineAnswers(socketPath: string): Promise<boolean> {
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
