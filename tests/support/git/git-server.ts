import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

export type RepositoryFile = string | Buffer | { linkTo: string };

// A git server on loopback: Debian's git http-backend behind a password.
export interface GitServer extends AsyncDisposable {
  // host:port
  address: string;
  url(repository: string): string;
  // Creates a repository with one commit of these files on `main`.
  addRepository(name: string, files: Record<string, RepositoryFile>): void;
  // Adds a repository of a server to one of this server, as a submodule in the folder `path`.
  addSubmodule(name: string, path: string, other: { server: GitServer; repository: string }): void;
  // Runs git in the bare repository.
  git(repository: string, ...args: string[]): string;
  // The password that it accepts, for every user. null: none is needed.
  password: string | null;
  // Requests wait until this resolves.
  gate: Promise<void>;
  // The paths of all requests.
  readonly requests: string[];
}

export async function startGitServer(password: string | null): Promise<GitServer> {
  const root = mkdtempSync(join(tmpdir(), "berth-git-"));
  const requests: string[] = [];
  const http = createServer((request, response) => {
    requests.push(request.url ?? "");
    void server.gate.then(() => answer(request, response));
  });

  function answer(request: IncomingMessage, response: ServerResponse): void {
    const [, given = ""] = /^Basic (.+)$/.exec(request.headers.authorization ?? "") ?? [];
    const isAllowed = server.password === null || Buffer.from(given, "base64").toString().endsWith(`:${server.password}`);
    if (isAllowed) runBackend(root, request, response);
    else response.writeHead(401, { "www-authenticate": 'Basic realm="git"' }).end();
  }

  http.listen(0, "127.0.0.1");
  await once(http, "listening");
  const address = `127.0.0.1:${(http.address() as AddressInfo).port}`;
  const server: GitServer = {
    address,
    url: (repository) => `http://${address}/${repository}.git`,
    addRepository: (name, files) => createRepository(root, name, files),
    addSubmodule(name, path, { server: other, repository }) {
      const folder = other.git(repository, "rev-parse", "--absolute-git-dir").trim();
      addSubmodule(root, name, path, { folder, url: other.url(repository) });
    },
    git: (repository, ...args) => execFileSync("git", ["-C", join(root, `${repository}.git`), ...args], { encoding: "utf8" }),
    password,
    gate: Promise.resolve(),
    requests,
    async [Symbol.asyncDispose]() {
      http.close();
      http.closeAllConnections();
      await once(http, "close");
      rmSync(root, { recursive: true, force: true });
    },
  };
  return server;
}

function createRepository(root: string, name: string, files: Record<string, RepositoryFile>): void {
  const work = join(root, `${name}.work`);
  const git = (...args: string[]) => execFileSync("git", ["-C", work, "-c", "user.name=Ada", "-c", "user.email=ada@example.com", ...args]);
  mkdirSync(work, { recursive: true });
  git("init", "--quiet", "--initial-branch=main");
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(work, path)), { recursive: true });
    if (typeof text === "object" && "linkTo" in text) symlinkSync(text.linkTo, join(work, path));
    else writeFileSync(join(work, path), text);
  }
  git("add", "--all");
  git("commit", "--quiet", "--message=first");
  git("clone", "--quiet", "--bare", work, join(root, `${name}.git`));
  execFileSync("git", ["-C", join(root, `${name}.git`), "config", "http.receivepack", "true"]);
}

// Clones from the folder, because the server cannot answer during this call.
function addSubmodule(root: string, name: string, path: string, { folder, url }: { folder: string; url: string }): void {
  const work = join(root, `${name}.work`);
  const git = (...args: string[]) => execFileSync("git", ["-C", work, "-c", "user.name=Ada", "-c", "user.email=ada@example.com", ...args]);
  git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", folder, path);
  git("config", "--file", ".gitmodules", `submodule.${path}.url`, url);
  git("add", ".gitmodules");
  git("commit", "--quiet", "--message=submodule");
  git("push", "--quiet", join(root, `${name}.git`), "main");
}

// The common gateway interface: variables in, headers and a body out.
function runBackend(root: string, request: IncomingMessage, response: ServerResponse): void {
  const [path = "", query = ""] = (request.url ?? "").split("?");
  const backend = spawn("git", ["http-backend"], {
    env: {
      PATH: process.env.PATH,
      GIT_PROJECT_ROOT: root,
      GIT_HTTP_EXPORT_ALL: "1",
      // The repositories may belong to another user than the one who runs the tests.
      GIT_CONFIG_COUNT: "1",
      GIT_CONFIG_KEY_0: "safe.directory",
      GIT_CONFIG_VALUE_0: "*",
      PATH_INFO: path,
      QUERY_STRING: query,
      REQUEST_METHOD: request.method,
      CONTENT_TYPE: request.headers["content-type"] ?? "",
      HTTP_CONTENT_ENCODING: request.headers["content-encoding"] as string | undefined,
      HTTP_GIT_PROTOCOL: request.headers["git-protocol"] as string | undefined,
    },
    stdio: ["pipe", "pipe", "ignore"],
  });
  request.pipe(backend.stdin);
  backend.stdin.on("error", () => {});
  let head = Buffer.alloc(0);
  backend.stdout.on("data", (chunk: Buffer) => {
    if (response.headersSent) return void response.write(chunk);
    head = Buffer.concat([head, chunk]);
    const end = head.indexOf("\r\n\r\n");
    if (end === -1) return;
    const lines = head.toString("latin1", 0, end).split("\r\n");
    const headers = lines.map((line) => line.split(/: (.*)/s, 2) as [string, string]);
    const status = Number(headers.find(([name]) => name === "Status")?.[1].slice(0, 3) ?? 200);
    response.writeHead(status, Object.fromEntries(headers.filter(([name]) => name !== "Status")));
    response.write(head.subarray(end + 4));
  });
  backend.stdout.on("end", () => response.end());
  response.on("close", () => backend.kill());
}
