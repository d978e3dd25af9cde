import { ArrowDown, ArrowUp, GitBranch } from "lucide-react";
import { useActions } from "../actions/actions.ts";
import { loadModule } from "../browser/load-module.ts";
import { usePage, useSandbox, useSandboxState, useSession, useSessionState } from "../state/context.ts";

// The current branch in the status bar. Nothing is shown without a repository.
export default function BranchButton() {
  const deps = { ...usePage(), ...useSandbox(), ...useSession(), ...useActions() };
  const { mayEdit } = deps;
  // A repository that could not be fetched has no branch yet, only git's name for the first one.
  const isMissing = useSessionState(({ session }) => session?.source?.status === "failed");
  const name = useSandboxState("git", ({ repository }) =>
    repository === null || (isMissing && repository.commit === null)
      ? null
      : (repository.branch ?? `${repository.commit?.slice(0, 7) ?? ""} (detached)`),
  );
  const ahead = useSandboxState("git", ({ repository }) => repository?.ahead ?? 0);
  const behind = useSandboxState("git", ({ repository }) => repository?.behind ?? 0);
  const operation = useSandboxState("git", ({ repository }) => repository?.operation ?? null);
  const running = useSandboxState("git", (state) => state.running?.name ?? null);
  if (name === null) return null;
  const pickBranch = async () => (await loadModule(() => import("../actions/git-actions.ts"))).createGitActions(deps).pickBranch();
  const counts = [ahead > 0 && `${ahead} to push`, behind > 0 && `${behind} to pull`].filter(Boolean).join(", ");
  const label = `Branch ${name}${counts === "" ? "" : `, ${counts}`}`;
  return (
    <button
      type="button"
      className="branch"
      aria-label={label}
      title={mayEdit ? `${label}. Switch branch` : `${label}. Your link is for viewing only`}
      disabled={!mayEdit}
      onClick={() => void pickBranch()}
    >
      <GitBranch size={13} aria-hidden="true" />
      <span className="truncate">{name}</span>
      {operation !== null && <span>({operation})</span>}
      {behind > 0 && (
        <span className="count">
          {behind}
          <ArrowDown size={11} aria-hidden="true" />
        </span>
      )}
      {ahead > 0 && (
        <span className="count">
          {ahead}
          <ArrowUp size={11} aria-hidden="true" />
        </span>
      )}
      {running !== null && <i className="spinner small" role="status" aria-label={`${running} in progress`} />}
    </button>
  );
}
