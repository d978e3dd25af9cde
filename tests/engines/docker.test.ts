import { execFileSync } from "node:child_process";
import { dockerMissing, startDockerEngine } from "../support/docker.ts";
import { engineJourneys } from "./journeys.ts";

engineJourneys(
  "docker",
  async () => {
    const engine = await startDockerEngine();
    const docker = (...args: string[]) => execFileSync("docker", ["--host", `unix://${engine.socketPath}`, ...args], { encoding: "utf8" });
    return {
      env: { BERTH_DRIVER: "docker", BERTH_DOCKER_SOCKET: engine.socketPath, BERTH_SANDBOX_IMAGE: engine.image },
      leftovers: async (id) =>
        [...docker("ps", "-a", "--format", "{{.Names}}").split("\n"), ...docker("volume", "ls", "-q").split("\n")].filter((name) =>
          name.includes(id),
        ),
      crash: async (id) => void docker("kill", `berth-${id}`),
      dispose: async () => engine[Symbol.asyncDispose](),
    };
  },
  { freezes: true, skipReason: dockerMissing() },
);
