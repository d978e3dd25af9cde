import { ShieldQuestion } from "lucide-react";
import type { PermissionItem } from "@berth/contract/questions.ts";
import { useSession } from "../../../state/context.ts";
import { useAgent } from "../../../state/use-agent.ts";
import { humanize } from "../../../text/humanize.ts";

// The agent asks for permission. If several browsers show the request, the first answer counts.
export function PermissionRequest({ conversationId, item }: { conversationId: string; item: PermissionItem & { id: string } }) {
  const agent = useAgent();
  const { mayEdit } = useSession();
  const { outcome, options, title } = item;
  return (
    <div className="agent-question" role="group" aria-label={`Permission: ${title}`}>
      <p>
        <ShieldQuestion size={15} />
        <span className="grow">{title}</span>
      </p>
      {outcome === null ? (
        <div className="row">
          {inOrder(options).map(({ id, name, kind }) => (
            <button
              key={id}
              type="button"
              disabled={!mayEdit}
              className={`button small ${kind === "allow_once" ? "primary" : kind.startsWith("reject") ? "danger" : ""}`}
              onClick={() => agent.answer(conversationId, item.id, { optionId: id })}
            >
              {humanize(name)}
            </button>
          ))}
        </div>
      ) : (
        <p className="muted">{answerText(item, outcome)}</p>
      )}
    </div>
  );
}

function answerText({ options, byRule }: PermissionItem, outcome: NonNullable<PermissionItem["outcome"]>): string {
  if (outcome.type === "cancelled") return byRule ? "Denied by a rule." : "Not answered. The turn was cancelled.";
  const option = options.find(({ id }) => id === outcome.optionId);
  if (byRule) return option?.kind.startsWith("allow") ? "Allowed by a rule." : "Denied by a rule.";
  return `Answered: ${humanize(option?.name ?? outcome.optionId)}`;
}

// The most common answer comes first, whatever order the agent sends.
const order = ["allow_once", "allow_always", "reject_once", "reject_always"];
const inOrder = (options: PermissionItem["options"]) => options.toSorted((a, b) => order.indexOf(a.kind) - order.indexOf(b.kind));
