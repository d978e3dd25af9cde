import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readScriptedAgent } from "../../support/agents/scripted-agent.ts";
import { startGitServer } from "../../support/git/git-server.ts";
import { daemonRuntime } from "../../support/runtime.ts";
import { startBerth } from "../../support/servers/berth.ts";
import { runCliForJsonHere } from "../../support/servers/cli.ts";

// The surroundings that samples of the documentation expect: a server with the templates that they name, an agent, and a repository.
export interface World extends AsyncDisposable {
  url: string;
  folder: string;
  // The credential of the repository.
  token: string;
  // A key of a new partner, because samples in several languages use the same names.
  newKey(partnerId: string): Promise<string>;
  // The sample with the addresses of this world. npm takes seconds to say that there is no package.
  localize(sample: string): string;
}

export async function openWorld(): Promise<World> {
  await daemonRuntime();
  await using opened = new AsyncDisposableStack();
  const folder = opened.adopt(mkdtempSync(join(tmpdir(), "berth-samples-")), (path) => rmSync(path, { recursive: true, force: true }));
  const token = "the-token-of-the-repository";
  const git = opened.use(await startGitServer(token));
  git.addRepository("shop", { "README.md": "a shop\n" });
  const agent = { command: "node", args: ["--input-type=module", "-e", await readScriptedAgent()], askingModes: ["ask"] };
  const templates = join(folder, "templates.yaml");
  writeFileSync(templates, JSON.stringify({ default: { agent }, big: { agent, maxResources: { cpus: 2, memoryMb: 4096 } } }));
  // The agent does not ask the model, but only with one do limits of runs apply.
  const model = { BERTH_MODEL_PROVIDER: "openai", BERTH_MODEL_BASE_URL: "http://127.0.0.1:9", BERTH_MODEL_API_KEY: "unused" };
  const server = opened.use(await startBerth({ BERTH_TEMPLATES: templates, BERTH_EGRESS_ALLOW: git.address, ...model }));
  const all = opened.move();
  return {
    url: server.url,
    folder,
    token,
    async newKey(partnerId) {
      const { key } = await runCliForJsonHere<{ key: { key: string } }>(server, "partner", "create", partnerId);
      return key.key;
    },
    localize: (sample) =>
      sample
        .replaceAll(/https:\/\/berth\.example\.com|http:\/\/localhost:8080|\blocalhost:8080/g, server.url)
        .replaceAll(/https:\/\/(?:git\.example|github)\.com\/acme\/shop\.git/g, git.url("shop"))
        .replaceAll(/("|&& )npm /g, "$1echo npm "),
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}
