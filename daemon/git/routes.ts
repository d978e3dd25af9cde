import type { GitRepository } from "@berth/contract/git.ts";
import { AppError } from "@berth/contract/errors.ts";
import { requiredPath } from "../files/files.ts";
import type { WorkspaceFolder } from "../files/workspace-folder.ts";
import { sendJson } from "../http/reply.ts";
import type { Route } from "../http/route.ts";
import { readBounded } from "../io/read-bounded.ts";
import type { Environment } from "../programs/environment.ts";
import { listBranches, switchBranch } from "./branches.ts";
import { abortOperation, addRemote, commit, continueOperation, fetchRemote, initialize, pull, push, setIdentity } from "./commits.ts";
import { streamEvents, untilGone } from "./event-stream.ts";
import { createGitProcess, type GitOptions } from "./process/git-process.ts";
import { readBlame, readContent, readHistory } from "./history.ts";
import { createRepositories, workspacePath } from "./repositories.ts";
import { commitOf, identityOf, numberIn, pathsIn, readBody, remoteOf, switchOf, syncOf } from "./requests.ts";
import { createSlots } from "./process/slots.ts";
import { discard, stage, stageContent, unstage } from "./staging.ts";
import { readStatus } from "./status.ts";

export interface GitRoutesDeps {
  workspace: WorkspaceFolder;
  environment: Environment;
  // Reports changes in a folder from now on.
  watch: (folder: string) => void;
}

const MAX_STAGED_BYTES = 20 * 1024 * 1024;
const MAX_HISTORY = 500;
const MAX_LINE = 10_000_000;

type Body = Record<string, unknown>;

export function gitRoutes({ workspace, environment, watch }: GitRoutesDeps): Route[] {
  const git = createGitProcess(workspace.root, environment);
  const repositories = createRepositories(workspace.root);
  // Changes of the index wait for each other, because git refuses a second one at the same time.
  const indexTurn = createSlots(1);

  // A route that responds with 204 when the work is done.
  const change = (path: string, work: (repository: string, body: Body) => Promise<void>): Route => ({
    method: "POST",
    path,
    async handle({ request, response }) {
      const body = await readBody(request);
      const repository = repositories.choose(body["repository"]);
      using _turn = await indexTurn.take();
      await work(repository, body);
      response.writeHead(204).end();
    },
  });
  // A route that responds with events while the work runs.
  const follow = <Request>(
    path: string,
    parse: (body: Body) => Request,
    work: (repository: string, request: Request, options: GitOptions) => Promise<void>,
  ): Route => ({
    method: "POST",
    path,
    async handle({ request, response, onGone }) {
      const body = await readBody(request);
      const repository = repositories.choose(body["repository"]);
      const parsed = parse(body);
      await streamEvents({ response, onGone }, (options) => work(repository, parsed, options));
    },
  });
  const fileIn = (query: URLSearchParams) => repositories.locate(requiredPath(query.get("path")));

  return [
    {
      method: "GET",
      path: "/git/status",
      async handle({ query, response, onGone }) {
        const all = repositories.list();
        if (all.length === 0) return sendJson(response, 200, { repositories: [], repository: null });
        const repository = await readStatus(git, repositories.choose(query.get("repository")), { signal: untilGone({ onGone }) });
        watchReferences(repository, watch);
        sendJson(response, 200, { repositories: all, repository });
      },
    },
    {
      method: "POST",
      path: "/git/init",
      async handle({ response }) {
        if (repositories.list().includes("")) throw new AppError("exists", { message: "The workspace is a repository already" });
        await initialize(git);
        response.writeHead(204).end();
      },
    },
    {
      method: "GET",
      path: "/git/branches",
      async handle({ query, response }) {
        sendJson(response, 200, { branches: await listBranches(git, repositories.choose(query.get("repository"))) });
      },
    },
    change("/git/switch", (repository, body) => switchBranch(git, repository, switchOf(body))),
    change("/git/stage", (repository, body) => stage(git, repository, pathsIn(body, repository, repositories))),
    change("/git/unstage", (repository, body) => unstage(git, repository, pathsIn(body, repository, repositories))),
    change("/git/discard", (repository, body) => discard(workspace, git, repository, pathsIn(body, repository, repositories))),
    {
      method: "GET",
      path: "/git/content",
      async handle({ query, response }) {
        const { id, bytes } = await readContent(git, fileIn(query), query.get("revision") ?? "index");
        response.writeHead(200, {
          "Content-Type": "application/octet-stream",
          "Content-Length": bytes.length,
          "X-Content-Type-Options": "nosniff",
          "Cache-Control": "no-store",
          ETag: `"${id}"`,
        });
        response.end(bytes);
      },
    },
    {
      method: "PUT",
      path: "/git/index",
      async handle({ query, request, response }) {
        const file = fileIn(query);
        const bytes = await readBounded(request, { maxBytes: MAX_STAGED_BYTES, tooLarge: "The file is too large to stage a part of it" });
        const expected = request.headers["if-match"]?.replaceAll('"', "");
        using _turn = await indexTurn.take();
        await stageContent(git, file, bytes, expected);
        response.writeHead(204).end();
      },
    },
    follow("/git/commit", commitOf, (repository, request, options) => commit(git, repository, request, options)),
    follow("/git/push", syncOf, (repository, _request, options) => push(git, repository, options)),
    follow("/git/pull", syncOf, (repository, request, options) => pull(git, repository, request, options)),
    follow("/git/fetch", syncOf, (repository, _request, options) => fetchRemote(git, repository, options)),
    follow("/git/continue", syncOf, (repository, _request, options) => continueOperation(git, repository, options)),
    change("/git/abort", (repository) => abortOperation(git, repository)),
    {
      method: "POST",
      path: "/git/identity",
      async handle({ request, response }) {
        await setIdentity(git, identityOf(await readBody(request)));
        response.writeHead(204).end();
      },
    },
    change("/git/remote", (repository, body) => addRemote(git, repository, remoteOf(body))),
    {
      method: "GET",
      path: "/git/history",
      async handle({ query, response, onGone }) {
        const limit = numberIn(query, "limit", { min: 1, max: MAX_HISTORY, fallback: 50 });
        sendJson(response, 200, await readHistory(git, fileIn(query), limit, { signal: untilGone({ onGone }) }));
      },
    },
    {
      method: "GET",
      path: "/git/blame",
      async handle({ query, response, onGone }) {
        const line = numberIn(query, "line", { min: 1, max: MAX_LINE });
        sendJson(response, 200, { commit: await readBlame(git, fileIn(query), line, { signal: untilGone({ onGone }) }) });
      },
    },
  ];
}

// The files of references change with a commit, a push or a fetch in a terminal.
function watchReferences({ path, remotes }: GitRepository, watch: (folder: string) => void): void {
  for (const folder of ["heads", ...remotes.map((remote) => `remotes/${remote}`)]) watch(workspacePath(path, `.git/refs/${folder}`));
}
