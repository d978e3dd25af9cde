import type { AgentMessage } from "@berth/contract/agent.ts";
import type { Agent } from "./agent.ts";
import { restingState } from "./availability.ts";
import type { Environment } from "../processes/environment.ts";
import { badRequest, type Call, readJson, requiredText as text, sendJson } from "../http/http.ts";

const MAX_BUFFERED_BYTES = 8 * 1024 * 1024;
const KEEP_ALIVE_MS = 15_000;

// One turn for a caller without a browser, as server-sent events.
export async function streamPrompt(agent: Agent, environment: Environment, { request, response }: Call): Promise<void> {
  const body = await readJson(request);
  const { permissions = "ask" } = body;
  if (permissions !== "ask" && permissions !== "allow" && permissions !== "reject")
    throw badRequest("permissions must be ask, allow or reject");
  const prompt = text(body.text, "text");
  const { status, missing, message } = restingState(environment);
  if (status === "none" || status === "unavailable" || status === "unconfigured")
    return sendJson(response, 409, { error: message ?? "This session has no agent", code: `agent_${status}`, missing });
  const thread = agent.thread(body.conversationId === undefined ? agent.create().id : text(body.conversationId, "conversationId"));
  const { id } = thread.live.head;

  const send = (event: AgentMessage) => {
    if (!response.headersSent)
      response.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-store", "X-Accel-Buffering": "no" });
    response.write(`data: ${JSON.stringify(event)}\n\n`);
    // Whoever does not read is gone.
    if (response.writableLength > MAX_BUFFERED_BYTES) response.destroy();
  };
  const isFree = thread.turn === null;
  const turn = agent.turns.prompt(thread, prompt, { permissions });
  // It runs now (or `turn` says at once why not: then the turn that is under way is another caller's).
  let over = false;
  response.on("close", () => !over && void agent.turns.cancel(thread));
  const unlisten = agent.listen((event) => belongsTo(event, id) && send(event));
  const alive = setInterval(() => response.headersSent && response.write(":\n\n"), KEEP_ALIVE_MS);
  try {
    if (isFree && thread.turn) send({ type: "conversation", conversation: thread.live.head });
    await turn;
    over = true;
    response.end();
  } finally {
    over = true;
    unlisten();
    clearInterval(alive);
  }
}

function belongsTo(message: AgentMessage, id: string): boolean {
  return message.type === "conversation" ? message.conversation.id === id : "conversationId" in message && message.conversationId === id;
}
