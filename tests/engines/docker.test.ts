import { dockerMissing, startDockerEngine } from "../support/docker/engine.ts";
import { engineJourneys } from "./journeys.ts";

engineJourneys(
  "docker",
  async () => {
    const engine = await startDockerEngine();
    return {
      env: { BERTH_DRIVER: "docker", BERTH_DOCKER_SOCKET: engine.socketPath, BERTH_SANDBOX_IMAGE: engine.image },
      leftovers: (id) => engine.named(id),
      crash: async (id) => void (await engine.call("POST", `/containers/berth-${id}/kill`)),
      dispose: async () => engine[Symbol.asyncDispose](),
    };
  },
  { freezes: true, missing: await dockerMissing() },
);
