import type { GitFile, SyncRequest } from "@berth/contract/git.ts";
import { useMemo } from "react";
import { ApiError } from "../connection/api.ts";
import { formatAge } from "../text/age.ts";
import { nameOf } from "../text/paths.ts";
import { findConflicts } from "../text/conflicts.ts";
import { readText } from "../state/documents/read-text.ts";
import { revisionsTab } from "../state/tabs/tab.ts";
import { usePage, useSandbox, useSession } from "../state/context.ts";
import { useActions, type Uses } from "./actions.ts";
import { IDENTITY, suggestIdentity } from "./suggest-identity.ts";

export type GitActions = ReturnType<typeof createGitActions>;
export type GitDeps = Uses<"api" | "dialogs" | "documents" | "git" | "notices" | "openFile" | "picker" | "showTab" | "visitorName">;

const hasCode = (error: unknown, code: string): boolean => error instanceof ApiError && error.code === code;

export function useGitActions() {
  const [page, sandbox, session, actions] = [usePage(), useSandbox(), useSession(), useActions()];
  return useMemo(() => createGitActions({ ...page, ...sandbox, ...session, ...actions }), [page, sandbox, session, actions]);
}

// Actions of a person on the repository.
export function createGitActions({ dialogs, documents, notices, picker, api, git, visitorName, openFile, showTab }: GitDeps) {
  return {
    initializeRepository: () => notices.attempt("Could not create a repository", () => git.init()),
    unstageFiles: (files?: GitFile[]) => notices.attempt("Could not unstage", () => git.unstage(files)),
    continueOperation: () => attemptKnown("Could not continue", () => git.continueOperation()),
    stageFiles,
    openConflict,
    discardFiles,
    commitChanges,
    abortOperation,
    pushBranch,
    pullBranch,
    fetchRemote,
    pickBranch,
    pickRevision,
  };

  // Git stages what is on disk, so unsaved text is written first. Returns false if the person decided not to, or if it failed.
  async function stageFiles(files?: GitFile[]): Promise<boolean> {
    const chosen = files ?? git.store.getState().repository?.files ?? [];
    for (const { path } of chosen) await documents.flush(path);
    const unresolved: string[] = [];
    for (const { path, conflict } of chosen) if (conflict && (await firstConflict(path)) !== null) unresolved.push(nameOf(path));
    const title = unresolved.length === 1 ? `Stage ${unresolved[0]} with conflicts?` : `Stage ${unresolved.length} files with conflicts?`;
    const text = "The text still has both sides of a conflict, between lines of <<<<<<< and >>>>>>>. A commit would contain them.";
    if (unresolved.length > 0 && !(await dialogs.confirm(title, text, "Stage anyway"))) return false;
    return notices.attempt("Could not stage", () => git.stage(files));
  }

  // Opens a file with conflicts at the first one.
  async function openConflict(path: string): Promise<void> {
    const line = await firstConflict(path);
    openFile(path, line === null ? undefined : { line, column: 1 });
  }

  // The line of the first conflict in a file; null if there is none, or if it has no text.
  async function firstConflict(path: string): Promise<number | null> {
    const text = await readText({ api, documents }, path);
    return findConflicts(text?.split("\n") ?? [])[0]?.start ?? null;
  }

  async function discardFiles(files: GitFile[]): Promise<void> {
    const [first] = files;
    if (first === undefined) return;
    const created = files.filter(({ unstaged }) => unstaged === "untracked").length;
    const title = files.length === 1 ? `Discard changes in ${nameOf(first.path)}?` : `Discard changes in ${files.length} files?`;
    const deletion =
      files.length === 1 ? "It is a new file. This deletes it." : `This deletes ${created} new ${created === 1 ? "file" : "files"}.`;
    const text = created === 0 ? "This restores what was staged or committed last." : deletion;
    if (!(await dialogs.confirm(title, `${text} You cannot undo this.`, "Discard"))) return;
    for (const { path } of files) await documents.flush(path);
    await notices.attempt("Could not discard changes", () => git.discard(files));
  }

  // Commits the staged files, or all files if none is staged and the person agrees.
  async function commitChanges({ amend = false } = {}): Promise<void> {
    const { message, repository } = git.store.getState();
    if (repository === null) return;
    if (message.trim() === "" && !amend) return notices.info("Write a message for the commit first.");
    await documents.saveAll();
    if (!amend && repository.operation === null && repository.files.every(({ staged }) => staged === null)) {
      if (repository.files.length === 0) return notices.info("There is nothing to commit.");
      if (
        !(await dialogs.confirm(
          "Commit all changes?",
          "Nothing is staged. This stages all files and commits them.",
          "Commit all",
          "primary",
        ))
      )
        return;
      if (!(await stageFiles())) return;
    }
    const request = { amend, ...(message.trim() === "" ? {} : { message }) };
    if (await attemptKnown("Could not commit", () => git.commit(request))) git.setMessage("");
  }

  async function abortOperation(): Promise<void> {
    const operation = git.store.getState().repository?.operation ?? "merge";
    if (!(await dialogs.confirm(`Abort the ${operation}?`, "This restores the files from before. Resolved conflicts are lost.", "Abort")))
      return;
    await notices.attempt(`Could not abort the ${operation}`, () => git.abort());
  }

  // Pushes the branch, or publishes it if it is not on the remote yet.
  async function pushBranch(): Promise<void> {
    if (git.store.getState().repository?.remotes.length === 0) {
      const answer = await dialogs.ask({
        title: "Where should the branch be published?",
        text: "The repository has no remote yet. Create an empty repository at your provider and paste its URL.",
        choices: [{ id: "add", label: "Publish", kind: "primary" }],
        input: {
          label: "URL",
          value: "",
          error: (url) => (/^[^\s-]\S+$/.test(url.trim()) ? null : "Paste a URL such as https://example.com/me/project.git"),
        },
      });
      if (answer === null || !(await notices.attempt("Could not add the remote", () => git.addRemote(answer.value.trim())))) return;
    }
    if (await attemptKnown("Could not push", () => git.push())) notices.info("Pushed.");
  }

  async function pullBranch(request: SyncRequest = {}): Promise<void> {
    try {
      await git.pull(request);
      notices.info("Pulled.");
    } catch (error) {
      if (!hasCode(error, "git_diverged")) return void (await attemptKnown("Could not pull", () => Promise.reject(error)));
      const answer = await dialogs.ask({
        title: "How should both sides be joined?",
        text: "Your branch and its remote branch both have new commits. A merge keeps both as they are. A rebase puts your commits on top.",
        choices: [
          { id: "rebase", label: "Rebase" },
          { id: "merge", label: "Merge", kind: "primary" },
        ],
      });
      if (answer) await pullBranch({ reconcile: answer.choice === "rebase" ? "rebase" : "merge" });
    }
  }

  async function fetchRemote(): Promise<void> {
    if (await attemptKnown("Could not fetch", () => git.fetch())) notices.info("Fetched.");
  }

  // Asks for a missing identity and tries again. A stopped command is not a failure.
  async function attemptKnown(failure: string, work: () => Promise<unknown>): Promise<boolean> {
    try {
      await work();
      return true;
    } catch (error) {
      if (error instanceof DOMException && error.name === "AbortError") return false;
      if (hasCode(error, "git_identity")) return (await askIdentity()) && attemptKnown(failure, work);
      return notices.attempt(failure, () => Promise.reject(error));
    }
  }

  async function askIdentity(): Promise<boolean> {
    const answer = await dialogs.ask({
      title: "Who makes this commit?",
      text: "Git writes your name and email address into each commit. It keeps them for this sandbox.",
      choices: [{ id: "set", label: "Commit", kind: "primary" }],
      input: {
        label: "Name <email>",
        value: suggestIdentity(visitorName()),
        error: (value) => (IDENTITY.test(value) ? null : "Write it like Ada Lovelace <ada@example.com>"),
      },
    });
    const [, name, email] = IDENTITY.exec(answer?.value ?? "") ?? [];
    if (name === undefined || email === undefined) return false;
    return await notices.attempt("Could not set the author", () => git.setIdentity(name, email));
  }

  // Lets the person switch to a branch or create one.
  async function pickBranch(): Promise<void> {
    if (git.store.getState().repository === null) return notices.info("This workspace has no Git repository.");
    await notices.attempt("Could not list branches", async () => {
      const branches = await git.branches();
      const local = new Set(branches.filter(({ remote }) => !remote).map(({ name }) => name));
      const withoutRemote = (name: string) => name.slice(name.indexOf("/") + 1);
      const remoteOnly = branches.filter(({ name, remote }) => remote && !local.has(withoutRemote(name)));
      picker.open({
        title: "Branches",
        placeholder: "Switch to a branch, or type the name of a new one",
        items: [
          ...branches
            .filter(({ remote }) => !remote)
            .map(({ name, current }) => ({
              id: name,
              label: name,
              ...(current ? { detail: "current" } : {}),
              run: () => void (current || switchBranch(() => git.switchTo(name))),
            })),
          ...remoteOnly.map(({ name }) => ({
            id: name,
            label: withoutRemote(name),
            detail: name,
            run: () => void switchBranch(() => git.createBranch(withoutRemote(name), name)),
          })),
        ],
        offer: (text) => {
          const name = text.trim().replaceAll(/\s+/g, "-");
          if (name === "" || local.has(name)) return null;
          return { id: "new", label: `Create branch ${name}`, run: () => void switchBranch(() => git.createBranch(name)) };
        },
      });
    });
  }

  // Unsaved text is written first, so that git sees it and refuses to overwrite it.
  async function switchBranch(work: () => Promise<void>): Promise<void> {
    await documents.saveAll();
    await notices.attempt("Could not switch", work);
  }

  // Lets the person pick a commit of a file, and compares it with the one before.
  async function pickRevision(path: string): Promise<void> {
    await notices.attempt(`Could not read the history of ${path}`, async () => {
      const { commits } = await git.history(path);
      if (commits.length === 0) return notices.info(`${nameOf(path)} is in no commit yet.`);
      picker.open({
        title: `History of ${nameOf(path)}`,
        placeholder: "Pick a commit to see what it changed",
        items: commits.map((commit, i) => ({
          id: commit.id,
          label: commit.subject,
          detail: `${commit.author}, ${formatAge(Date.now() - commit.atMs)} · ${commit.id.slice(0, 7)}`,
          run: () => {
            const before = commits[i + 1];
            showTab(
              revisionsTab(`${nameOf(path)} (${commit.id.slice(0, 7)})`, before ? { path: before.path, revision: before.id } : null, {
                path: commit.path,
                revision: commit.id,
              }),
            );
          },
        })),
      });
    });
  }
}
