import { debianRootMissing } from "../support/debian-root.ts";
import { dockerMissing, startDockerEngine } from "../support/docker.ts";
import { engineJourneys } from "./journeys.ts";

// Set-up began to make it some minutes ago.
const DEBIAN_WITHIN_MS = 45_000;
const withoutDebian = debianRootMissing();

engineJourneys(
  `docker${withoutDebian === undefined ? "" : ` (on this machine's programs: ${withoutDebian})`}`,
  async () => {
    const engine = await startDockerEngine({ debianWithinMs: DEBIAN_WITHIN_MS });
    return {
      env: { BERTH_DRIVER: "docker", BERTH_DOCKER_SOCKET: engine.socketPath, BERTH_SANDBOX_IMAGE: engine.image },
      leftovers: (id) => engine.named(id),
      crash: async (id) => void (await engine.call("POST", `/containers/berth-${id}/kill`)),
      dispose: async () => engine[Symbol.asyncDispose](),
    };
  },
  { freezes: true, skipReason: dockerMissing() },
);
