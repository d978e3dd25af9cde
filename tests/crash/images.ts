import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startDockerEngine } from "../support/docker/engine.ts";
import { startGitServer } from "../support/git/git-server.ts";

// Sandboxes on Docker, and a repository that names another image than theirs.
export interface ImageWorld extends AsyncDisposable {
  env: Record<string, string>;
  image: string;
  // The fields of a create. The setup command adds a line to `file`.
  create: object;
  file: { name: string; content: Buffer };
}

export async function openImageWorld(): Promise<ImageWorld> {
  await using opening = new AsyncDisposableStack();
  const engine = opening.use(await startDockerEngine());
  await engine.call("POST", `/images/${engine.image}/tag?repo=example.com/tools&tag=2`);
  const image = "example.com/tools:2";
  const git = opening.use(await startGitServer(null));
  git.addRepository("tools", { ".devcontainer.json": JSON.stringify({ image, postCreateCommand: "echo ran >> ran" }) });
  const folder = opening.adopt(mkdtempSync(join(tmpdir(), "berth-crash-")), (path) => rmSync(path, { recursive: true }));
  const templates = join(folder, "templates.json");
  writeFileSync(templates, JSON.stringify({ default: { allowedImages: [image] } }));
  const open = opening.move();
  return {
    env: {
      BERTH_DRIVER: "docker",
      BERTH_DOCKER_SOCKET: engine.socketPath,
      BERTH_SANDBOX_IMAGE: engine.image,
      BERTH_TEMPLATES: templates,
      BERTH_EGRESS_ALLOW: git.address,
    },
    image,
    create: { source: { git: { url: git.url("tools"), token: "secret" } } },
    file: { name: "ran", content: Buffer.from("ran\n") },
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}
