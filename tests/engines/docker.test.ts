import { dockerMissing, startDockerEngine } from "../support/docker/engine.ts";
import { engineJourneys } from "./journeys.ts";

engineJourneys(
  "docker",
  async () => {
    const engine = await startDockerEngine();
    // The same programs under another name.
    await engine.call("POST", `/images/${engine.image}/tag?repo=example.com/tools&tag=2`);
    return {
      env: { BERTH_DRIVER: "docker", BERTH_DOCKER_SOCKET: engine.socketPath, BERTH_SANDBOX_IMAGE: engine.image },
      leftovers: (id) => engine.named(id),
      crash: async (id) => void (await engine.call("POST", `/containers/berth-${id}/kill`)),
      imageOf: async (id) => ((await engine.call("GET", `/containers/berth-${id}/json`)) as { Config: { Image: string } }).Config.Image,
      dispose: async () => engine[Symbol.asyncDispose](),
    };
  },
  { freezes: true, missing: dockerMissing, images: { works: "example.com/tools:2", fails: "127.0.0.1:9/nothing:1" } },
);
