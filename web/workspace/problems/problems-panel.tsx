import "../styles/panels.css";
import { CircleCheck, CircleX, Info, TriangleAlert } from "lucide-react";
import { FileIcon } from "../parts/file-icon.tsx";
import { useSandboxState } from "../state/context.ts";
import { useActions } from "../actions/actions.ts";
import type { Problem } from "../state/sandbox/languages.ts";
import { nameOf, parentOf } from "../text/paths.ts";

const MAX_SHOWN = 500;

// The problems that the language servers report in all files that they know.
export default function ProblemsPanel() {
  const problems = useSandboxState("languages", (state) => state.problems);
  const files = Object.entries(problems)
    .filter(([, list]) => list.length > 0)
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
  return (
    <>
      <div className="panel-head">
        <h2>Problems</h2>
      </div>
      <div className="panel-body">
        {files.length === 0 ? (
          <NoProblems />
        ) : (
          files.map(([path, list]) => <FileProblems key={path} path={path} problems={list.slice(0, MAX_SHOWN)} count={list.length} />)
        )}
      </div>
    </>
  );
}

function FileProblems({ path, problems, count }: { path: string; problems: readonly Problem[]; count: number }) {
  return (
    <section aria-label={`Problems in ${path}`}>
      <h3 className="result-file">
        <FileIcon path={path} />
        <span className="name truncate">{nameOf(path)}</span>
        <span className="folder muted truncate">{parentOf(path)}</span>
        <span className="count">{count}</span>
      </h3>
      {problems.map((problem, i) => (
        <ProblemRow key={i} path={path} problem={problem} />
      ))}
    </section>
  );
}

const icons = { error: CircleX, warning: TriangleAlert, info: Info };

function ProblemRow({ path, problem }: { path: string; problem: Problem }) {
  const { openFile } = useActions();
  const { severity, message, source, line, column } = problem;
  const Icon = icons[severity];
  return (
    <button type="button" className="result-line problem-row" title={message} onClick={() => openFile(path, { line, column })}>
      <Icon size={14} className={severity} aria-label={severity} />
      <span className="message">
        {message}
        <span className="muted">
          {source !== null && `${source}, `}line {line}
        </span>
      </span>
    </button>
  );
}

function NoProblems() {
  const isRunning = useSandboxState("languages", ({ servers }) => Object.values(servers).some(({ status }) => status === "running"));
  return (
    <div className="empty">
      <CircleCheck size={28} strokeWidth={1.4} />
      <p>{isRunning ? "No problems in the open files." : "No language server runs. Open a file of a language that has one."}</p>
    </div>
  );
}
