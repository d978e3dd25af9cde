import { readdir } from "node:fs/promises";
import type { WorkspaceFolder } from "../files/workspace-folder.ts";
import { sendJson } from "../http/reply.ts";
import type { Route } from "../http/route.ts";
import { launchGit } from "../git/process/launch-git.ts";
import { readBounded } from "../io/read-bounded.ts";
import type { Environment } from "../programs/environment.ts";

const MAX_NAMES = 10_000;
const MAX_OUTPUT = 4 * 1024 * 1024;

// Names the entries of a folder that Git ignores. Without Git, or outside a repository, that is none.
export function ignoredRoutes({ workspace, environment }: { workspace: WorkspaceFolder; environment: Environment }): Route[] {
  return [
    {
      method: "GET",
      path: "/files/ignored",
      async handle({ query, response }) {
        const folder = await workspace.folderPath(query.get("path") ?? "");
        const names = (await readdir(folder)).slice(0, MAX_NAMES);
        sendJson(response, 200, { names: names.length === 0 ? [] : await ignoredAmong(names, folder, environment) });
      },
    },
  ];
}

async function ignoredAmong(names: string[], folder: string, environment: Environment): Promise<string[]> {
  const git = launchGit(["check-ignore", "-z", "--stdin"], { cwd: folder, environment, stdin: names.join("\0") });
  const output = await readBounded(git.stdout, { maxBytes: MAX_OUTPUT, tooLarge: "There are too many ignored files" });
  return output
    .toString()
    .split("\0")
    .filter((name) => name !== "");
}
