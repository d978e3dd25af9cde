import { ShieldCheck } from "lucide-react";
import type { Conversation, PermissionRule } from "@berth/contract/agent.ts";

// The rules that answer the agent's questions in this conversation. They come from a run or from the template, so that a person cannot
// change them here.
export function RuleList({ conversation: { rules } }: { conversation: Conversation }) {
  // That the agent may read needs no line of its own.
  if (rules.every(({ tool, path, allow }) => allow && path === undefined && (tool === "read" || tool === "search"))) return null;
  return (
    <details className="rules">
      <summary>
        <ShieldCheck size={13} />
        <span className="grow truncate">{rules.length === 1 ? "A rule decides" : `${rules.length} rules decide`} about permissions</span>
      </summary>
      <ol aria-label="Rules">
        {rules.map((rule, index) => (
          // oxlint-disable-next-line react/no-array-index-key -- The same rule may come twice, and the list only changes as a whole.
          <li key={index}>
            <span className="grow">
              {TOOLS[rule.tool]} <code>{rule.path ?? rule.command}</code>
            </span>
            <span className={rule.allow ? "allowed" : "denied"}>{rule.allow ? "allowed" : "denied"}</span>
          </li>
        ))}
        <li className="muted">The agent asks about everything else.</li>
      </ol>
    </details>
  );
}

const TOOLS: Record<PermissionRule["tool"], string> = {
  read: "Read",
  edit: "Edit",
  delete: "Delete",
  move: "Move",
  search: "Search",
  shell: "Run",
  fetch: "Fetch from the network",
  other: "Other tools",
  "*": "All tools",
};
