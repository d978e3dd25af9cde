import { ArrowUp, ListEnd, ShieldCheck, X } from "lucide-react";
import type { Conversation } from "@berth/contract/agent.ts";
import { IconButton } from "../../parts/icon-button.tsx";
import { useAgent } from "../../state/use-agent.ts";

// Messages that wait for the end of the turn. After a turn that failed or was stopped, a person sends them.
export function QueueList({ conversation: { id, queue, busy } }: { conversation: Conversation }) {
  const agent = useAgent();
  if (queue.length === 0) return null;
  return (
    <ul className="queue" aria-label="Waiting messages">
      {queue.map((queued) => (
        <li key={queued.id}>
          <ListEnd size={13} />
          <span className="grow truncate">{queued.text}</span>
          {!busy && (
            <IconButton label="Send now" onClick={() => agent.sendQueued(id, queued.id)}>
              <ArrowUp size={13} />
            </IconButton>
          )}
          <IconButton label="Remove from the queue" onClick={() => agent.unqueue(id, queued.id)}>
            <X size={13} />
          </IconButton>
        </li>
      ))}
    </ul>
  );
}

// Tools that the agent uses without asking, because a person chose "Always allow …" in this conversation.
export function AllowedTools({ conversation: { id, alwaysAllowed } }: { conversation: Conversation }) {
  const agent = useAgent();
  if (alwaysAllowed.length === 0) return null;
  return (
    <ul className="queue" aria-label="Allowed without asking">
      {alwaysAllowed.map((action) => (
        <li key={action}>
          <ShieldCheck size={13} />
          <span className="grow truncate">Allowed without asking: {action}</span>
          <IconButton label={`Ask again before ${action}`} onClick={() => agent.disallow(id, action)}>
            <X size={13} />
          </IconButton>
        </li>
      ))}
    </ul>
  );
}
