import { isAppError } from "@berth/contract";
import type { DriverProbe } from "../driver.ts";
import { createEngine, type Engine } from "./engine.ts";

// Is there an Engine that this server may use, and an image to make sandboxes from?
export async function probeDocker(socketPath: string, image: string): Promise<DriverProbe> {
  await using engine = createEngine(socketPath);
  const say = (usable: boolean, reason: string): DriverProbe => ({ driver: "docker", usable, reason });
  try {
    const signal = AbortSignal.timeout(5_000);
    const { body } = await engine.call({ method: "GET", path: "/version", signal });
    const { Version, ApiVersion } = body as { Version: string; ApiVersion: string };
    const found = `Docker Engine ${Version} (API ${ApiVersion}) at ${socketPath}`;
    const options = await securityOptions(engine, signal);
    if (!options.some((option) => /^name=seccomp\b/.test(option)))
      return say(false, `${found} has no seccomp, which filters the system calls of sandboxes; use an Engine and a kernel that have it.`);
    if (options.some((option) => /^name=(userns|rootless)\b/.test(option)))
      return say(
        false,
        `${found} maps the users of containers (userns-remap or rootless), and the folders that sandboxes share with the server would belong to strangers; use an Engine without, or the driver oci, which maps them itself.`,
      );
    if (await hasImage(engine, image, signal)) return say(true, `${found}, image ${image}.`);
    if (isPullable(image)) return say(true, `${found}; the image ${image} is fetched when it is first needed.`);
    return say(false, `${found} has no image ${image}; make it with: docker build -f deploy/Dockerfile.sandbox -t ${image} .`);
  } catch (error) {
    return say(false, explain(error, socketPath));
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

// A name with a registry's host in it; a bare one is an image of this machine's own.
const isPullable = (image: string) => /^[^/]+[.:][^/]*\//.test(image);

function explain(error: unknown, socketPath: string): string {
  const cause = isAppError(error) ? error.cause : error;
  const { code } = cause as { code?: string };
  if (code === "ENOENT" || code === "ECONNREFUSED")
    return `No Docker Engine answers at ${socketPath}; start one, or name its socket in BERTH_DOCKER_SOCKET.`;
  if (code === "EACCES") return `The server may not open ${socketPath}; run it as root or as a member of the group docker.`;
  return `The Docker Engine at ${socketPath} does not answer (${code ?? String(cause)}).`;
}
