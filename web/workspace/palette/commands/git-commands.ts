import { focusSideView } from "../../state/actions/move-actions.ts";
import { loadModule } from "../../browser/load-module.ts";
import { activeFile } from "../../state/tabs/editor-groups.ts";
import type { Workspace } from "../../state/workspace.ts";
import type { Command } from "./command.ts";

type GitActions = typeof import("../../state/actions/git-actions.ts");

const run = (action: (actions: GitActions) => Promise<unknown>) => () =>
  void loadModule(() => import("../../state/actions/git-actions.ts")).then(action);

export function gitCommands(workspace: Workspace): Command[] {
  const commit = run(({ commitChanges }) => {
    focusSideView(workspace, "changes");
    return commitChanges(workspace);
  });
  const showHistory = run(async ({ pickRevision }) => {
    const path = activeFile(workspace.layout.store.getState());
    if (path !== null) await pickRevision(workspace, path);
  });
  return [
    { id: "git.branch", title: "Git: switch or create a branch…", run: run(({ pickBranch }) => pickBranch(workspace)) },
    { id: "git.commit", title: "Git: commit", run: commit },
    { id: "git.amend", title: "Git: amend the last commit", run: run(({ commitChanges }) => commitChanges(workspace, { amend: true })) },
    { id: "git.stageAll", title: "Git: stage all", run: run(({ stageFiles }) => stageFiles(workspace)) },
    { id: "git.unstageAll", title: "Git: unstage all", run: run(({ unstageFiles }) => unstageFiles(workspace)) },
    { id: "git.push", title: "Git: push or publish the branch", run: run(({ pushBranch }) => pushBranch(workspace)) },
    { id: "git.pull", title: "Git: pull", run: run(({ pullBranch }) => pullBranch(workspace)) },
    { id: "git.fetch", title: "Git: fetch", run: run(({ fetchRemote }) => fetchRemote(workspace)) },
    { id: "git.history", title: "Git: history of this file…", run: showHistory },
    {
      id: "git.blame",
      title: "Git: toggle the last commit of the current line",
      run: () => workspace.preferences.set(({ blame }) => ({ blame: !blame })),
    },
    { id: "git.init", title: "Git: initialize repository", run: run(({ initializeRepository }) => initializeRepository(workspace)) },
  ];
}
