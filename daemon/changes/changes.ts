import { createReadStream } from "node:fs";
import { copyFile, mkdir, rm } from "node:fs/promises";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Change, Changes } from "@berth/contract/changes.ts";
import { requiredPath } from "../files/files.ts";
import { parsePath, type WorkspaceFolder } from "../files/workspace-folder.ts";
import { readJson } from "../http/body.ts";
import { notFound } from "../http/errors.ts";
import { sendJson } from "../http/reply.ts";
import type { Route } from "../http/route.ts";
import type { Environment } from "../programs/environment.ts";
import { createGit, type Git } from "./git.ts";
import { createBaseline, type Baseline } from "./baseline.ts";

// The changes of the user and the agent: the difference to git's HEAD or, without git, to the start of the session.
export interface SessionChanges {
  routes: Route[];
  // Takes the baseline of the files if there is none yet.
  onSessionStart(): void;
}

export interface ChangesDeps {
  workspace: WorkspaceFolder;
  environment: Environment;
  // The folder for the baseline.
  folder: string;
}

const MAX_CHANGES = 5000;

export function createChanges({ workspace, environment, folder }: ChangesDeps): SessionChanges {
  const git = createGit(workspace.root, environment);
  const baseline = createBaseline(workspace.root, folder);

  return {
    onSessionStart: () =>
      void baseline.take().catch((error: unknown) => console.error("The baseline of the session's start could not be saved:", error)),
    routes: [
      {
        method: "GET",
        path: "/changes",
        async handle({ response }) {
          const found = await collect(git, baseline);
          const changes = found.changes.toSorted((a, b) => (a.path < b.path ? -1 : 1));
          sendJson(response, 200, {
            ...found,
            changes: changes.slice(0, MAX_CHANGES),
            truncated: found.truncated || changes.length > MAX_CHANGES,
          });
        },
      },
      {
        method: "GET",
        path: "/changes/original",
        async handle({ query, response }) {
          const bytes = await original(parsePath(requiredPath(query.get("path"))));
          if (!bytes) throw notFound("The file did not exist before, or was too large to keep");
          response.writeHead(200, {
            "Content-Type": "application/octet-stream",
            "X-Content-Type-Options": "nosniff",
            "Cache-Control": "no-store",
          });
          await pipeline(bytes, response);
        },
      },
      {
        method: "POST",
        path: "/changes/revert",
        async handle({ request, response }) {
          const { path } = await readJson(request);
          await revert(parsePath(requiredPath(path)));
          response.writeHead(204).end();
        },
      },
    ],
  };

  async function original(path: string): Promise<Readable | null> {
    const place = locate(git, path);
    if (place) return await git.original(place.repository, place.inner);
    const copy = await baseline.original(path);
    return copy === null ? null : createReadStream(copy);
  }

  async function revert(path: string): Promise<void> {
    const change = (await collect(git, baseline)).changes.find((candidate) => candidate.path === path);
    if (!change) throw notFound("This file has not changed");
    const place = locate(git, path);
    if (change.kind === "added") {
      await using parent = await workspace.pinParent(path);
      await rm(parent.at, { recursive: true, force: true });
      if (place) await git.removeFromIndex(place.repository, place.inner);
      return;
    }
    if (place) return await git.restore(place.repository, place.inner);
    const copy = await baseline.original(path);
    if (copy === null) throw notFound("The original was too large to keep");
    await using parent = await workspace.pinParent(path, { makeFolders: true });
    await mkdir(parent.folder, { recursive: true });
    await copyFile(copy, parent.at);
  }
}

async function collect(git: Git, baseline: Baseline): Promise<Changes> {
  const repositories = git.repositories();
  if (repositories.length === 0) return { base: "start", baseName: "the session's start", ...(await baseline.changes()) };
  const all = await Promise.all(
    repositories.map(async (repository) => {
      const changes = await git.changes(repository);
      return repository === "" ? changes : changes.map((change): Change => ({ ...change, path: `${repository}/${change.path}` }));
    }),
  );
  const [only, ...others] = repositories;
  const baseName = only !== undefined && others.length === 0 ? `HEAD (${await git.branch(only)})` : "HEAD";
  return { base: "git", baseName, changes: all.flat(), truncated: false };
}

function locate(git: Git, path: string): { repository: string; inner: string } | null {
  for (const repository of git.repositories()) {
    if (repository === "") return { repository, inner: path };
    if (path.startsWith(`${repository}/`)) return { repository, inner: path.slice(repository.length + 1) };
  }
  return null;
}
