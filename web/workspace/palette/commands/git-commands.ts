import { loadModule } from "../../browser/load-module.ts";
import type { GitActions, GitDeps } from "../../actions/git-actions.ts";
import type { MoveActions } from "../../actions/move-actions.ts";
import { activeFile } from "../../state/tabs/editor-groups.ts";
import type { Command } from "./command.ts";
import type { Uses } from "../../actions/actions.ts";

type Deps = GitDeps & Uses<"layout" | "preferences"> & Pick<MoveActions, "focusSideView">;

export function gitCommands(deps: Deps): Command[] {
  const run = (action: (actions: GitActions) => Promise<unknown>) => () =>
    void loadModule(() => import("../../actions/git-actions.ts")).then(({ createGitActions }) => action(createGitActions(deps)));
  const commit = run(({ commitChanges }) => {
    deps.focusSideView("changes");
    return commitChanges();
  });
  const showHistory = run(async ({ pickRevision }) => {
    const path = activeFile(deps.layout.store.getState());
    if (path !== null) await pickRevision(path);
  });
  return [
    { id: "git.branch", title: "Git: switch or create a branch…", run: run(({ pickBranch }) => pickBranch()) },
    { id: "git.commit", title: "Git: commit", run: commit },
    { id: "git.amend", title: "Git: amend the last commit", run: run(({ commitChanges }) => commitChanges({ amend: true })) },
    { id: "git.stageAll", title: "Git: stage all", run: run(({ stageFiles }) => stageFiles()) },
    { id: "git.unstageAll", title: "Git: unstage all", run: run(({ unstageFiles }) => unstageFiles()) },
    { id: "git.push", title: "Git: push or publish the branch", run: run(({ pushBranch }) => pushBranch()) },
    { id: "git.pull", title: "Git: pull", run: run(({ pullBranch }) => pullBranch()) },
    { id: "git.fetch", title: "Git: fetch", run: run(({ fetchRemote }) => fetchRemote()) },
    { id: "git.history", title: "Git: history of this file…", run: showHistory },
    {
      id: "git.blame",
      title: "Git: toggle the last commit of the current line",
      run: () => deps.preferences.set(({ blame }) => ({ blame: !blame })),
    },
    { id: "git.init", title: "Git: initialize repository", run: run(({ initializeRepository }) => initializeRepository()) },
  ];
}
