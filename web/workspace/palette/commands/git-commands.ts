import { focusSideView } from "../../state/actions/focus-actions.ts";
import {
  commitChanges,
  fetchRemote,
  initializeRepository,
  pickBranch,
  pickRevision,
  pullBranch,
  pushBranch,
  stageFiles,
  unstageFiles,
} from "../../state/actions/git-actions.ts";
import { activeFile } from "../../state/tabs/editor-groups.ts";
import type { Workspace } from "../../state/workspace.ts";
import type { Command } from "./command.ts";

export function gitCommands(workspace: Workspace): Command[] {
  const commit = () => {
    focusSideView(workspace, "changes");
    void commitChanges(workspace);
  };
  const showHistory = () => {
    const path = activeFile(workspace.layout.store.getState());
    if (path !== null) void pickRevision(workspace, path);
  };
  return [
    { id: "git.branch", title: "Git: switch or create a branch…", run: () => void pickBranch(workspace) },
    { id: "git.commit", title: "Git: commit", run: commit },
    { id: "git.amend", title: "Git: amend the last commit", run: () => void commitChanges(workspace, { amend: true }) },
    { id: "git.stageAll", title: "Git: stage all", run: () => void stageFiles(workspace) },
    { id: "git.unstageAll", title: "Git: unstage all", run: () => void unstageFiles(workspace) },
    { id: "git.push", title: "Git: push or publish the branch", run: () => void pushBranch(workspace) },
    { id: "git.pull", title: "Git: pull", run: () => void pullBranch(workspace) },
    { id: "git.fetch", title: "Git: fetch", run: () => void fetchRemote(workspace) },
    { id: "git.history", title: "Git: history of this file…", run: showHistory },
    {
      id: "git.blame",
      title: "Git: toggle the last commit of the current line",
      run: () => workspace.preferences.set(({ blame }) => ({ blame: !blame })),
    },
    { id: "git.init", title: "Git: initialize repository", run: () => void initializeRepository(workspace) },
  ];
}
