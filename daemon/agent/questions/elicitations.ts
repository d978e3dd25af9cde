import {
  type CompleteElicitationNotification,
  type CreateElicitationRequest,
  type CreateElicitationResponse,
  type ElicitationSchema,
  RequestError,
} from "@agentclientprotocol/sdk";
import type { ConversationItem } from "@berth/contract/agent.ts";
import type { FormItem, QuestionOutcome, UrlItem } from "@berth/contract/questions.ts";
import { plainText } from "../conversations/plain-text.ts";
import type { Thread } from "../thread.ts";
import { formFields } from "./form-fields.ts";
import { ask, settle } from "./questions.ts";

// Elicitations of the Agent Client Protocol: the agent asks a person to fill in a form or to open an address.
export interface Elicitations {
  // `signal`: the agent no longer asks. Throws the protocol's error for a request that cannot be shown.
  create(thread: Thread | undefined, request: CreateElicitationRequest, signal: AbortSignal): Promise<CreateElicitationResponse>;
  complete(notification: CompleteElicitationNotification): void;
}

const MAX_TITLE = 4000;
const MAX_URL = 2048;
const MAX_OPEN_URLS = 100;

export function createElicitations(clean: (text: string) => string): Elicitations {
  // The addresses that the agent has not called completed, by its own ids.
  const urls = new Map<string, { thread: Thread; itemId: string }>();

  return {
    async create(thread, request, signal) {
      if (!thread?.turn || thread.turn.cancelled) return { action: "cancel" };
      const { turn } = thread;
      const question = understand(thread, request);
      const outcome = await ask(thread, turn, question, {
        onAsked(itemId) {
          signal.addEventListener("abort", () => settle(turn, itemId, { type: "cancelled" }));
          if (request.mode === "url") remember(String(request.elicitationId), { thread, itemId });
        },
      });
      return responseOf(outcome);
    },
    complete({ elicitationId }) {
      const { thread, itemId } = urls.get(elicitationId) ?? {};
      urls.delete(elicitationId);
      if (!thread || itemId === undefined) return;
      // The agent may know it before a person has answered here.
      settle(thread.turn, itemId, { type: "completed" });
      const item = thread.live.items.get(itemId);
      if (item?.kind === "url" && item.outcome?.type === "accepted")
        thread.live.replace({ ...item, outcome: { type: "completed" } } as ConversationItem);
    },
  };

  // The agent hears what it can ask here instead, and the conversation says that it has asked.
  function understand({ live }: Thread, request: CreateElicitationRequest): FormItem | UrlItem {
    try {
      const title = plainText(clean(request.message.slice(0, 2 * MAX_TITLE)), MAX_TITLE) || "The agent has a question";
      if (request.mode === "form")
        return { kind: "form", title, fields: formFields(request.requestedSchema as ElicitationSchema), outcome: null };
      if (request.mode === "url") return { kind: "url", title, url: safeUrl(String(request.url)), outcome: null };
      throw new Error("Only forms and addresses can be shown");
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      if (!live.full) live.add({ kind: "notice", level: "info", text: `The agent asked a question that cannot be shown here. ${reason}.` });
      throw RequestError.invalidParams(undefined, reason);
    }
  }

  function remember(id: string, url: { thread: Thread; itemId: string }): void {
    const [oldest] = urls.keys();
    if (urls.size >= MAX_OPEN_URLS && oldest !== undefined) urls.delete(oldest);
    urls.set(id, url);
  }
}

// Only an address that a person can judge by its host: `https://bank.example@attacker.example` is none.
function safeUrl(text: string): string {
  const url = text.length > MAX_URL ? null : URL.parse(text);
  if (!url || (url.protocol !== "https:" && url.protocol !== "http:") || url.username !== "" || url.password !== "" || url.host === "")
    throw new Error(`An address must be http or https, without a name or a password, and at most ${MAX_URL} characters long`);
  return url.href;
}

function responseOf(outcome: QuestionOutcome): CreateElicitationResponse {
  switch (outcome.type) {
    case "accepted":
      return "values" in outcome ? { action: "accept", content: outcome.values } : { action: "accept" };
    case "completed":
      return { action: "accept" };
    case "declined":
      return { action: "decline" };
    default:
      return { action: "cancel" };
  }
}
