import { ExternalLink, Link as LinkIcon } from "lucide-react";
import type { UrlItem } from "@berth/contract/questions.ts";
import { useSession } from "../../../state/context.ts";
import { useAgent } from "../../../state/use-agent.ts";

// The agent asks a person to open an address, which is shown before anything is opened.
export function UrlQuestion({ conversationId, item }: { conversationId: string; item: UrlItem & { id: string } }) {
  const agent = useAgent();
  const { mayEdit } = useSession();
  const { title, outcome } = item;
  const url = safeUrl(item.url);
  const isOpen = outcome === null || outcome.type === "accepted";
  return (
    <div className="agent-question" role="group" aria-label={`Address to open: ${title}`}>
      <p>
        <LinkIcon size={15} />
        <span className="grow">{title}</span>
      </p>
      {url && (
        <div className="address">
          {url.protocol}//<strong>{url.host}</strong>
          {url.pathname}
          {url.search}
          {url.hash}
        </div>
      )}
      {outcome !== null && <p className="muted">{described[outcome.type]}</p>}
      {isOpen && mayEdit && (
        <div className="row">
          {url && (
            <a
              className={`button small ${outcome === null ? "primary" : ""}`}
              href={url.href}
              target="_blank"
              rel="noopener noreferrer"
              onClick={() => outcome === null && agent.answer(conversationId, item.id, { action: "accept" })}
            >
              <ExternalLink size={13} /> {outcome === null ? `Open ${url.host}` : "Open again"}
            </a>
          )}
          {outcome === null && (
            <button type="button" className="button small" onClick={() => agent.answer(conversationId, item.id, { action: "decline" })}>
              Decline
            </button>
          )}
        </div>
      )}
    </div>
  );
}

const described = {
  accepted: "Opened. Continue in the other tab; the agent says when it is done.",
  completed: "Done.",
  declined: "Declined.",
  cancelled: "Not answered. The turn has ended.",
};

// The sandbox is not trusted, and a link of this page could run a script.
function safeUrl(text: string): URL | null {
  const url = URL.canParse(text) ? new URL(text) : null;
  return url && (url.protocol === "https:" || url.protocol === "http:") && url.username === "" && url.password === "" ? url : null;
}
