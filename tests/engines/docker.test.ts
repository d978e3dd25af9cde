import { dockerMissing, startDockerEngine } from "../support/docker/engine.ts";
import { engineJourneys } from "./journeys.ts";
import { imageConfig } from "./template-journey.ts";

engineJourneys(
  "docker",
  async () => {
    const engine = await startDockerEngine();
    // The same programs under another name, with variables.
    const { Id } = (await engine.call("POST", "/containers/create", { Image: engine.image, Cmd: ["sh"] })) as { Id: string };
    await engine.call("POST", `/commit?container=${Id}&repo=example.com/tools&tag=2`, imageConfig);
    await engine.call("DELETE", `/containers/${Id}`);
    return {
      env: { BERTH_DRIVER: "docker", BERTH_DOCKER_SOCKET: engine.socketPath, BERTH_SANDBOX_IMAGE: engine.image },
      leftovers: (id) => engine.named(id),
      crash: async (id) => void (await engine.call("POST", `/containers/berth-${id}/kill`)),
      imageOf: async (id) => ((await engine.call("GET", `/containers/berth-${id}/json`)) as { Config: { Image: string } }).Config.Image,
      dispose: async () => engine[Symbol.asyncDispose](),
    };
  },
  { freezes: true, user: "1000", missing: dockerMissing, images: { works: "example.com/tools:2", fails: "127.0.0.1:9/nothing:1" } },
);
