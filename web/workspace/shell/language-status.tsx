import { CircleX, TriangleAlert } from "lucide-react";
import { useWorkspace, useWorkspaceState } from "../state/context.ts";
import { countProblems } from "../state/sandbox/languages.ts";

// The number of problems in all files that language servers know, and servers that do not work.
export function LanguageStatus() {
  const { layout } = useWorkspace();
  const isKnown = useWorkspaceState("languages", ({ problems }) => Object.keys(problems).length > 0);
  const errors = useWorkspaceState("languages", (state) => countProblems(state, "error"));
  const warnings = useWorkspaceState("languages", (state) => countProblems(state, "warning"));
  const failed = useWorkspaceState("languages", ({ servers }) => Object.values(servers).find(({ status }) => status === "failed")?.name);
  return (
    <>
      {isKnown && (
        <button type="button" className="problems" title="Show problems" onClick={() => layout.showSideView("problems")}>
          <CircleX size={13} aria-hidden /> {errors}
          <span className="visually-hidden"> {nounOf(errors, "error")} and </span>
          <TriangleAlert size={13} aria-hidden /> {warnings}
          <span className="visually-hidden"> {nounOf(warnings, "warning")}</span>
        </button>
      )}
      {failed !== undefined && <span className="optional">{failed} does not run</span>}
    </>
  );
}

const nounOf = (count: number, word: string) => `${word}${count === 1 ? "" : "s"}`;
