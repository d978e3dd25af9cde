import { CircleX, TriangleAlert } from "lucide-react";
import { useWorkspace, useWorkspaceState } from "../state/context.ts";
import { activeFile } from "../state/tabs/editor-groups.ts";

// The number of problems in the active file, and language servers that do not work.
export function LanguageStatus() {
  const { activeEditor } = useWorkspace();
  const path = useWorkspaceState("layout", activeFile);
  const problems = useWorkspaceState("languages", (state) => (path === null ? undefined : state.problems[path]));
  const failed = useWorkspaceState("languages", ({ servers }) => Object.values(servers).find(({ status }) => status === "failed")?.name);
  const showProblems = () => activeEditor.current()?.runLanguage("showProblems");
  return (
    <>
      {problems && (
        <button type="button" className="problems" title={describe(problems)} onClick={showProblems}>
          <CircleX size={13} aria-hidden /> {problems.errors}
          <span className="visually-hidden"> {nounOf(problems.errors, "error")} and </span>
          <TriangleAlert size={13} aria-hidden /> {problems.warnings}
          <span className="visually-hidden"> {nounOf(problems.warnings, "warning")} in this file</span>
        </button>
      )}
      {failed !== undefined && <span className="optional">{failed} does not run</span>}
    </>
  );
}

const nounOf = (count: number, word: string) => `${word}${count === 1 ? "" : "s"}`;
const describe = ({ errors, warnings }: { errors: number; warnings: number }) =>
  `${errors} ${nounOf(errors, "error")} and ${warnings} ${nounOf(warnings, "warning")} in this file`;
