import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { engineAnswers, startEngineProcess } from "../../tests/support/docker/engine-process.ts";
import { onPath } from "../../tests/support/on-path.ts";
import type { Run } from "../support/benchmark.ts";
import { runProgram } from "../support/run-program.ts";

// `docker run` of a command. Returns its output.
export type DockerRun = (command: string[]) => Promise<string>;

const MACHINE_SOCKET = "/var/run/docker.sock";

// Uses the machine's Engine, or a private one if dockerd is installed. Returns undefined, with a remark, if there is none. The image
// is empty: like a sandbox, its containers see the host's programs.
export async function openDockerRun(run: Run): Promise<DockerRun | undefined> {
  const docker = onPath("docker");
  const hasEngine = await engineAnswers(MACHINE_SOCKET);
  if (docker === undefined || (!hasEngine && (onPath("dockerd") === undefined || process.getuid?.() !== 0))) {
    run.remark("There is no Docker Engine here, so nothing is compared with `docker run`.");
    return undefined;
  }
  const socketPath = hasEngine ? MACHINE_SOCKET : run.resources.own(await startEngineProcess()).socketPath;
  const image = `berth-bench:${process.pid}`;
  const call = (...args: string[]) => runProgram(docker, ["--host", `unix://${socketPath}`, ...args]);
  await importImage(call, image);
  if (hasEngine) run.resources.defer(() => call("image", "rm", "--force", image));
  return (command) => call("run", "--rm", "--network", "none", "--volume", "/usr:/usr:ro", image, ...command);
}

async function importImage(call: (...args: string[]) => Promise<string>, image: string): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "berth-bench-image-"));
  const root = join(folder, "root");
  await mkdir(join(root, "usr"), { recursive: true });
  for (const name of ["bin", "sbin", "lib", "lib64"]) if (existsSync(`/usr/${name}`)) await symlink(`usr/${name}`, join(root, name));
  const tar = join(folder, "image.tar");
  await runProgram("tar", ["--create", "--file", tar, "--directory", root, "."]);
  await call("import", tar, image);
  await rm(folder, { recursive: true });
}
