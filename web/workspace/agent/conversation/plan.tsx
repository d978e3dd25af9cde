import { Circle, CircleCheck, CircleDot } from "lucide-react";
import type { ReactNode } from "react";
import type { PlanEntry } from "@berth/contract/agent.ts";

export function Plan({ entries, icon }: { entries: PlanEntry[]; icon: ReactNode }) {
  const done = entries.filter(({ status }) => status === "completed").length;
  return (
    <div className="plan">
      <p className="plan-head">
        {icon} Plan <span className="muted">{`${done} of ${entries.length}`}</span>
      </p>
      <ul>
        {entries.map(({ text, status }) => {
          const Icon = icons[status];
          return (
            <li key={text} data-status={status}>
              <Icon size={14} aria-label={labels[status]} />
              {text}
            </li>
          );
        })}
      </ul>
    </div>
  );
}

const icons = { pending: Circle, in_progress: CircleDot, completed: CircleCheck };
const labels = { pending: "to do", in_progress: "in progress", completed: "done" };
