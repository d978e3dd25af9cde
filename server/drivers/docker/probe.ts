import { isAppError } from "@berth/contract";
import type { DriverProbe } from "../driver.ts";
import { createEngine, type Engine } from "./engine.ts";

// Checks whether the server can use a Docker Engine, and whether the sandbox image is available.
export async function probeDocker(socketPath: string, image: string): Promise<DriverProbe> {
  await using engine = createEngine(socketPath);
  const usable = (reason: string): DriverProbe => ({ driver: "docker", usable: true, reason });
  const unusable = (reason: string): DriverProbe => ({ driver: "docker", usable: false, reason });
  try {
    const signal = AbortSignal.timeout(5_000);
    const { body } = await engine.call({ method: "GET", path: "/version", signal });
    const { Version, ApiVersion } = body as { Version: string; ApiVersion: string };
    const found = `Docker Engine ${Version} (API ${ApiVersion}) at ${socketPath}`;
    const options = await securityOptions(engine, signal);
    if (!options.some((option) => /^name=seccomp\b/.test(option)))
      return unusable(`${found} has no seccomp, which filters the system calls of sandboxes. Use an Engine and a kernel that support it.`);
    if (options.some((option) => /^name=(userns|rootless)\b/.test(option)))
      return unusable(
        `${found} maps the users of containers (userns-remap or rootless), so sandboxes could not write to the folders that they share with the server. Use an Engine without this mapping, or the oci driver, which does its own.`,
      );
    if (await hasImage(engine, image, signal)) return usable(`${found}, image ${image}.`);
    if (isPullable(image)) return usable(`${found}; the image ${image} is pulled when it is first needed.`);
    return unusable(`${found} has no image ${image}. Build it with: docker build -f deploy/Dockerfile.sandbox -t ${image} .`);
  } catch (error) {
    return unusable(explain(error, socketPath));
  }
}

async function securityOptions(engine: Engine, signal: AbortSignal): Promise<string[]> {
  const { body } = await engine.call({ method: "GET", path: "/info", signal });
  return (body as { SecurityOptions?: string[] }).SecurityOptions ?? [];
}

async function hasImage(engine: Engine, image: string, signal: AbortSignal): Promise<boolean> {
  const { status } = await engine.call({ method: "GET", path: `/images/${image}/json`, accept: [404], signal });
  return status === 200;
}

// True if the name contains the host of a registry. Other names are images that were built on this machine.
const isPullable = (image: string) => /^[^/]+[.:][^/]*\//.test(image);

function explain(error: unknown, socketPath: string): string {
  const cause = isAppError(error) ? error.cause : error;
  const { code } = cause as { code?: string };
  if (code === "ENOENT" || code === "ECONNREFUSED")
    return `No Docker Engine answers at ${socketPath}. Start one, or set BERTH_DOCKER_SOCKET to its socket.`;
  if (code === "EACCES") return `The server may not open ${socketPath}. Run it as root or as a member of the group docker.`;
  return `The Docker Engine at ${socketPath} does not answer (${code ?? String(cause)}).`;
}
