import {
  Brain,
  ChevronRight,
  CircleCheck,
  CircleX,
  FilePen,
  FileSearch,
  Globe,
  LoaderCircle,
  Move,
  Search,
  SquareTerminal,
  Trash2,
  Wrench,
  type LucideIcon,
} from "lucide-react";
import type { ToolItem } from "@berth/contract/agent.ts";
import {} from "../../state/context.ts";
import { useActions } from "../../actions/actions.ts";
import { nameOf } from "../../text/paths.ts";
import { HunkLines } from "./edits/hunk-lines.tsx";

// One tool call of the agent: what it did, whether it succeeded and, when expanded, the result.
export function ToolCard({ tool }: { tool: ToolItem }) {
  const Icon = icons[tool.toolKind];
  const diffs = tool.content.filter((content) => content.type === "diff");
  const texts = tool.content.filter((content) => content.type === "text");
  return (
    <details className="tool" data-status={tool.status} open={diffs.length > 0}>
      <summary>
        <ChevronRight size={13} className="chevron" />
        <Icon size={14} />
        <span className="grow truncate">{tool.title}</span>
        <Status status={tool.status} />
      </summary>
      <div className="tool-body">
        {tool.locations.length > 0 && diffs.length === 0 && <Locations locations={tool.locations} />}
        {diffs.map(({ path, hunks }) => (
          <div key={path} className="edit" role="group" aria-label={`Planned edit of ${path}`}>
            <p className="edit-note">Planned: {path}</p>
            {hunks.map((hunk, index) => (
              <HunkLines key={index} hunk={hunk} label={`Planned changes to ${path}`} />
            ))}
          </div>
        ))}
        {tool.input && diffs.length === 0 && <pre className="tool-text">{tool.input}</pre>}
        {texts.map(({ text }, index) => (
          <pre key={index} className="tool-text">
            {text}
          </pre>
        ))}
      </div>
    </details>
  );
}

const icons: Record<ToolItem["toolKind"], LucideIcon> = {
  read: FileSearch,
  edit: FilePen,
  delete: Trash2,
  move: Move,
  search: Search,
  execute: SquareTerminal,
  think: Brain,
  fetch: Globe,
  other: Wrench,
};

function Status({ status }: { status: ToolItem["status"] }) {
  if (status === "completed") return <CircleCheck size={14} className="good" aria-label="done" />;
  if (status === "failed") return <CircleX size={14} className="bad" aria-label="failed" />;
  return <LoaderCircle size={14} className="turning" aria-label={status === "pending" ? "waiting" : "running"} />;
}

function Locations({ locations }: { locations: ToolItem["locations"] }) {
  const { openFile } = useActions();
  return (
    <div className="row">
      {locations.map(({ path, line }) => (
        <button
          key={`${path}:${line}`}
          type="button"
          className="button small"
          onClick={() => openFile(path, line ? { line, column: 1 } : undefined)}
        >
          {nameOf(path)}
          {line ? `:${line}` : ""}
        </button>
      ))}
    </div>
  );
}
