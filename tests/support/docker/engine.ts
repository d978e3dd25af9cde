import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { createEngine } from "../../../server/drivers/docker/engine.ts";
import { startEngineProcess } from "./engine-process.ts";
import { copyImage, ensureImage, IMAGE } from "./image.ts";
import { machine, type Missing } from "../machine.ts";
import { onPath } from "../on-path.ts";

// A private Docker Engine with the image of the tests' sandboxes.
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

// The reason why this machine cannot run an Engine with our image, or undefined. The image is made of Debian's packages.
export const dockerMissing: Missing = machine.root ?? machine.command("dockerd", "docker.io") ?? machine.command("dpkg-query", "dpkg");

// gVisor as a second runtime of the Engine. BERTH_TEST_DOCKER_RUNTIME is the path of `runsc`.
export const gvisor = {
  runtime: "runsc",
};

export async function startDockerEngine(): Promise<TestEngine> {
  await using stack = new AsyncDisposableStack();
  const { folder, dataRoot, socketPath, start, stop } = stack.use(await startEngineProcess(describeConfig(), copyImage));
  const engine = stack.use(createEngine(socketPath));
  await ensureImage(engine, dataRoot);
  const call = async (method: "GET" | "POST" | "DELETE", path: string, body?: object) =>
    (await engine.call({ method, path, ...(body ? { body } : {}) })).body;
  const open = stack.move();

  return {
    socketPath,
    image: IMAGE,
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
    [Symbol.asyncDispose]: () => open.disposeAsync(),
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
