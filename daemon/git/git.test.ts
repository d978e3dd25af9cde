import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { GitBranch, GitCommit, GitStatus } from "@berth/contract/git.ts";
import { startTestDaemon, type TestDaemon } from "../testing/test-daemon.ts";
import { type TestRepository, testRepository } from "../testing/test-repository.ts";

let daemon: TestDaemon;
let repo: TestRepository;
beforeEach(async () => {
  daemon = await startTestDaemon();
  repo = testRepository(daemon);
});
afterEach(() => daemon[Symbol.asyncDispose]());

const read = (path: string) => readFileSync(repo.at(path), "utf8");

describe("a workspace without a repository", () => {
  test("has no status until it is initialized, and then no commit", async () => {
    expect((await daemon.fetch("/git/status")).json).toEqual({ repositories: [], repository: null });
    expect(await repo.fails("stage", {})).toMatch("git_no_repository");
    expect((await repo.post("init")).status).toBe(204);
    expect((await repo.post("init")).json.code).toBe("exists");
    expect(await repo.repository()).toMatchObject({ branch: "main", commit: null, upstream: null, remotes: [], files: [] });
  });
});

describe("staging", () => {
  test("works before the first commit, and for all files", async () => {
    repo.init();
    repo.write("a.txt", "a");
    repo.write("b/b.txt", "b");
    await repo.post("stage", { paths: ["a.txt"] });
    expect(await repo.files()).toEqual(["A- a.txt", "-? b/b.txt"]);
    await repo.post("stage");
    expect(await repo.files()).toEqual(["A- a.txt", "A- b/b.txt"]);
    await repo.post("unstage", { paths: ["a.txt"] });
    expect(await repo.files()).toEqual(["A- b/b.txt", "-? a.txt"]);
    await repo.post("unstage");
    expect(await repo.files()).toEqual(["-? a.txt", "-? b/b.txt"]);
  });

  test("handles modified, deleted, renamed and unusually named files, and files in a repository below the workspace", async () => {
    repo = testRepository(daemon, "project");
    repo.init();
    for (const name of ["a", "gone", "old"]) repo.write(name, `${name}\n`.repeat(9));
    repo.commit("first");
    const odd = ["-n", ":(top)x", "line\nbreak", "*", 'quote"d', "ünïcode"];
    for (const name of odd) repo.write(name, name);
    repo.write("a", "changed");
    rmSync(repo.at("gone"));
    repo.git("mv", "old", "new");
    // A name that is no UTF-8.
    execFileSync("sh", ["-c", "printf x > \"$(printf 'by\\377te')\""], { cwd: repo.at() });
    const listed = (staged: string, names: string[]) => names.map((name) => `${staged} project/${name}`);
    expect((await repo.files()).toSorted()).toEqual(
      [...listed("-M", ["a"]), ...listed("-D", ["gone"]), ...listed("R-", ["new"]), ...listed("-?", [...odd, "by\ufffdte"])].toSorted(),
    );
    const paths = [...odd, "by\ufffdte", "gone"].map((name) => `project/${name}`);
    expect((await repo.post("stage", { paths })).status).toBe(204);
    expect((await repo.files()).filter((line) => line.startsWith("-"))).toEqual(["-M project/a"]);
    expect((await repo.post("unstage", { paths })).status).toBe(204);
    for (const name of odd) expect((await repo.post("discard", { paths: [`project/${name}`] })).status).toBe(204);
    expect((await repo.files()).toSorted()).toEqual(
      [...listed("-M", ["a"]), ...listed("-D", ["gone"]), ...listed("R-", ["new"]), ...listed("-?", ["by\ufffdte"])].toSorted(),
    );
    expect(existsSync(repo.at("*"))).toBe(false);
    expect((await repo.post("stage", { paths: ["../x"] })).status).toBe(403);
  });

  test("of a part replaces the staged content only if it is as expected", async () => {
    repo.init();
    repo.write("a.txt", "1\n2\n3\n");
    repo.commit("first");
    repo.write("a.txt", "one\n2\nthree\n");
    const { text, headers } = await daemon.fetch("/git/content?path=a.txt");
    expect(text).toBe("1\n2\n3\n");
    const put = (match: string) =>
      daemon.fetch("/git/index?path=a.txt", { method: "PUT", body: "one\n2\n3\n", headers: { "if-match": match } });
    expect((await put(headers.etag!)).status).toBe(204);
    expect((await put(headers.etag!)).status).toBe(412);
    expect(repo.git("diff", "--cached", "--numstat")).toBe("1\t1\ta.txt");
    expect(await repo.files()).toEqual(["MM a.txt"]);
    expect((await daemon.fetch("/git/content?path=a.txt&revision=HEAD")).text).toBe("1\n2\n3\n");
    expect((await daemon.fetch("/git/content?path=b.txt")).status).toBe(404);
    expect((await daemon.fetch("/git/content?path=a.txt&revision=--help")).status).toBe(400);
  });

  test("is undone by discard, which keeps what is staged and never deletes a nested repository", async () => {
    repo.init();
    repo.write("a.txt", "a");
    repo.commit("first");
    repo.write("a.txt", "staged");
    await repo.post("stage");
    repo.write("a.txt", "later");
    repo.write("new.txt", "new");
    testRepository(daemon, "nested").init();
    expect((await repo.post("discard", { paths: ["nested"] })).status).toBe(400);
    expect((await repo.post("discard")).status).toBe(204);
    expect(read("a.txt")).toBe("staged");
    expect(existsSync(repo.at("new.txt"))).toBe(false);
    expect(existsSync(repo.at("nested/.git"))).toBe(true);
  });
});

describe("commits", () => {
  test("need a name, a message and something staged, run hooks and can be amended", async () => {
    repo.git("init", "-q", "-b", "main");
    repo.write("a.txt", "a");
    await repo.post("stage");
    expect(await repo.run("commit", { message: "first" })).toMatchObject({ type: "failed", code: "git_identity" });
    expect((await repo.post("identity", { name: "Ada", email: "--x" })).status).toBe(400);
    expect((await repo.post("identity", { name: "Ada", email: "ada@example.test" })).status).toBe(204);
    expect(await repo.run("commit", { message: "-m first\n\nbody" })).toEqual({ type: "done" });
    expect(await repo.run("commit", { message: "again" })).toMatchObject({ type: "failed", code: "git_nothing" });
    expect((await repo.post("commit", { message: " " })).status).toBe(400);
    expect(await repo.run("commit", { amend: true, message: "amended" })).toEqual({ type: "done" });
    expect(await repo.run("commit", { amend: true })).toEqual({ type: "done" });
    expect(repo.git("log", "--format=%an %s")).toBe("Ada amended");
    writeFileSync(repo.at(".git/hooks/pre-commit"), "#!/bin/sh\necho the hook says no >&2\nexit 1\n", { mode: 0o755 });
    repo.write("a.txt", "b");
    await repo.post("stage");
    expect(await repo.run("commit", { message: "second" })).toEqual({ type: "failed", code: "git_failed", message: "the hook says no" });
  });

  test("stop when the caller disconnects, and block nothing while a hook hangs", async () => {
    repo.init();
    repo.write("a.txt", "a");
    await repo.post("stage");
    writeFileSync(repo.at(".git/hooks/pre-commit"), `#!/bin/sh\necho $$ > ${repo.at("pid")}\nexec sleep 600\n`, { mode: 0o755 });
    const hanging = await daemon.open("/git/commit", { method: "POST", body: { message: "m" } });
    await expect.poll(() => existsSync(repo.at("pid")) && read("pid")).toMatch(/\d/);
    repo.write("b.txt", "b");
    expect((await repo.post("stage", { paths: ["b.txt"] })).status).toBe(204);
    hanging.destroy();
    await expect.poll(() => existsSync(`/proc/${read("pid").trim()}`)).toBe(false);
    expect(existsSync(repo.at(".git/index.lock"))).toBe(false);
  });
});

describe("branches", () => {
  const branches = async () => (await daemon.fetch<{ branches: GitBranch[] }>("/git/branches")).json.branches;

  test("are listed, created and switched, unless changes would be lost", async () => {
    repo.init();
    repo.write("a.txt", "a");
    repo.commit("first");
    expect((await repo.post("switch", { branch: "feature/x", create: true })).status).toBe(204);
    repo.write("a.txt", "b");
    repo.commit("second");
    expect(await branches()).toEqual([
      { name: "feature/x", remote: false, current: true },
      { name: "main", remote: false, current: false },
    ]);
    repo.write("a.txt", "not committed");
    expect(await repo.fails("switch", { branch: "main" })).toBe(
      "git_blocked: Your changes in a.txt would be lost. Commit or discard them first",
    );
    await repo.post("discard");
    expect((await repo.post("switch", { branch: "main" })).status).toBe(204);
    expect(read("a.txt")).toBe("a");
    expect(await repo.fails("switch", { branch: "main", create: true })).toBe("exists: A branch with this name already exists");
    expect(await repo.fails("switch", { branch: "a..b", create: true })).toMatch("bad_request");
    expect(await repo.fails("switch", { branch: "--orphan" })).toMatch("bad_request");
    expect(await repo.fails("switch", { branch: "unknown" })).toMatch("not_found");
  });

  test("are absent while HEAD is detached, and a hostile configuration runs nothing when the status is read", async () => {
    repo.init();
    repo.write("a.txt", "a");
    repo.commit("first");
    repo.git("switch", "-q", "--detach");
    writeFileSync(repo.at("evil"), `#!/bin/sh\ntouch ${join(daemon.home, "ran")}\n`, { mode: 0o755 });
    repo.git("config", "core.fsmonitor", repo.at("evil"));
    repo.git("config", "core.hooksPath", repo.at());
    repo.git("config", "core.pager", repo.at("evil"));
    expect(await repo.repository()).toMatchObject({ branch: null, commit: expect.stringMatching(/^[0-9a-f]{40}$/) });
    expect(existsSync(join(daemon.home, "ran"))).toBe(false);
    expect(await repo.run("push")).toMatchObject({ code: "git_blocked", message: "You are not on a branch. Create one first" });
  });
});

describe("conflicts", () => {
  test("are listed, resolved by staging or aborted", async () => {
    repo.init();
    repo.write("a.txt", "a\n");
    repo.commit("first");
    repo.git("switch", "-qc", "other");
    repo.write("a.txt", "theirs\n");
    repo.commit("theirs");
    repo.git("switch", "-q", "main");
    repo.write("a.txt", "mine\n");
    repo.commit("mine");
    expect(() => repo.git("merge", "-q", "other")).toThrow("Command failed");
    expect(await repo.repository()).toMatchObject({ operation: "merge" });
    expect(await repo.files()).toEqual(["! a.txt"]);
    expect(await repo.run("commit", { message: "m" })).toMatchObject({ code: "git_conflict" });
    expect(await repo.fails("discard", { paths: ["a.txt"] })).toMatch("git_conflict");
    expect((await repo.post("abort")).status).toBe(204);
    expect(read("a.txt")).toBe("mine\n");
    expect(await repo.repository()).toMatchObject({ operation: null, files: [] });

    expect(() => repo.git("rebase", "other")).toThrow("Command failed");
    expect(await repo.repository()).toMatchObject({ operation: "rebase", branch: null });
    repo.write("a.txt", "both\n");
    await repo.post("stage", { paths: ["a.txt"] });
    expect(await repo.run("continue")).toEqual({ type: "done" });
    expect(repo.git("log", "--format=%s")).toBe("mine\ntheirs\nfirst");
  });
});

describe("history", () => {
  const history = async (path: string) => (await daemon.fetch<{ commits: GitCommit[] }>(`/git/history?path=${path}`)).json;

  test("of a file follows its renames, and a line has the commit that changed it last", async () => {
    repo.init();
    expect(await history("a.txt")).toEqual({ commits: [], truncated: false });
    repo.write("a.txt", "1\n2\n3\n4\n5\n");
    repo.commit("first");
    repo.git("mv", "a.txt", "b.txt");
    repo.commit("rename");
    repo.write("b.txt", "1\n2\n3\n4\nfive\n");
    repo.commit("five");
    repo.write("b.txt", "1\nnew\n2\n3\n4\nfive\n");
    const { commits } = await history("b.txt");
    expect(commits.map(({ subject, path }) => `${subject} ${path}`)).toEqual(["five b.txt", "rename b.txt", "first a.txt"]);
    expect(commits[0]).toMatchObject({ author: "Ada", atMs: Date.UTC(2026, 0, 2, 3, 4, 5) });
    const content = await daemon.fetch(`/git/content?path=a.txt&revision=${commits[2]!.id}`);
    expect(content.text).toBe("1\n2\n3\n4\n5\n");
    const blame = async (line: number) =>
      (await daemon.fetch<{ commit: GitCommit | null }>(`/git/blame?path=b.txt&line=${line}`)).json.commit;
    expect(await blame(6)).toMatchObject({ subject: "five", author: "Ada", path: "b.txt" });
    expect(await blame(1)).toMatchObject({ subject: "first", path: "a.txt" });
    expect(await blame(2)).toBeNull();
    expect(await blame(99)).toBeNull();
    expect((await daemon.fetch("/git/blame?path=b.txt&line=0")).status).toBe(400);
  });
});

describe("a huge repository", () => {
  test("is listed up to a limit", async () => {
    repo.init();
    // Staged files count without being there.
    repo.write("file", "");
    repo.git("add", "-A");
    execFileSync(
      "sh",
      ["-c", "id=$(git hash-object file); seq 5000 | sed s,^,100644\\ $id\\\\tmany/file-, | git update-index --index-info"],
      { cwd: repo.at() },
    );
    const { json } = await daemon.fetch<GitStatus>("/git/status");
    expect(json.repository).toMatchObject({ truncated: true });
    expect(json.repository?.files).toHaveLength(5000);
  });
});
