import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { GitEvent, GitFile, GitRepository, GitStatus } from "@berth/contract/git.ts";
import type { TestDaemon } from "./test-daemon.ts";

// A repository in the workspace of a test daemon, and the daemon's API for it.
export function testRepository(daemon: TestDaemon, folder = "") {
  const at = (...parts: string[]) => join(daemon.workspace, folder, ...parts);
  const environment = { PATH: process.env.PATH, HOME: daemon.home, GIT_AUTHOR_DATE: "2026-01-02T03:04:05Z" };
  mkdirSync(at(), { recursive: true });
  mkdirSync(daemon.home, { recursive: true });
  const git = (...args: string[]) => execFileSync("git", args, { cwd: at(), env: environment, encoding: "utf8", stdio: "pipe" }).trim();
  const post = (path: string, body: object = {}) => daemon.fetch(`/git/${path}`, { method: "POST", body });
  const repository = async (): Promise<GitRepository> => (await daemon.fetch<GitStatus>("/git/status")).json.repository!;

  return {
    at,
    git,
    post,
    repository,
    init() {
      git("config", "--global", "user.name", "Ada");
      git("config", "--global", "user.email", "ada@example.test");
      git("init", "-q", "-b", "main");
    },
    write(path: string, text: string) {
      mkdirSync(dirname(at(path)), { recursive: true });
      writeFileSync(at(path), text);
    },
    commit(message: string) {
      git("add", "-A");
      git("commit", "-qm", message);
    },
    // One line per file: its staged change, its unstaged change and its path.
    async files(): Promise<string[]> {
      const letter = (change: GitFile["staged"]) => (change === "untracked" ? "?" : (change?.[0]?.toUpperCase() ?? "-"));
      const { files } = await repository();
      return files.map(({ path, staged, unstaged, conflict }) => (conflict ? `! ${path}` : `${letter(staged)}${letter(unstaged)} ${path}`));
    },
    // The last event of a streamed request.
    async run(path: string, body: object = {}): Promise<GitEvent> {
      const { text } = await post(path, body);
      return JSON.parse(text.trim().split("\n").at(-1) ?? "") as GitEvent;
    },
    async fails(path: string, body: object): Promise<string> {
      const { json } = await post(path, body);
      return `${json.code}: ${json.error}`;
    },
  };
}

export type TestRepository = ReturnType<typeof testRepository>;
