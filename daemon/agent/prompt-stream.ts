import type { AgentMessage } from "@berth/contract/agent.ts";
import { readJson, requiredText as text } from "../http/body.ts";
import { badRequest } from "../http/errors.ts";
import { sendJson } from "../http/reply.ts";
import type { Call } from "../http/route.ts";
import type { Environment } from "../programs/environment.ts";
import type { Agent } from "./agent.ts";
import { restingState, unavailableError } from "./program/availability.ts";
import { afterStop } from "./thread.ts";

const MAX_BUFFERED_BYTES = 8 * 1024 * 1024;
const KEEP_ALIVE_MS = 15_000;

// Runs one turn for a caller without a browser, and streams it as server-sent events.
export async function streamPrompt(agent: Agent, environment: Environment, { request, response, onGone }: Call): Promise<void> {
  const body = await readJson(request);
  const { permissions = "ask" } = body;
  if (permissions !== "ask" && permissions !== "allow" && permissions !== "reject")
    throw badRequest("permissions must be ask, allow or reject");
  const prompt = text(body.text, "text");
  const state = restingState(environment);
  const unavailable = unavailableError(state);
  if (unavailable)
    return sendJson(response, unavailable.status, { error: unavailable.message, code: unavailable.code, missing: state.missing });
  const thread = agent.thread(body.conversationId === undefined ? agent.create().id : text(body.conversationId, "conversationId"));
  const { id } = thread.live.head;

  const send = (event: AgentMessage) => {
    if (!response.headersSent)
      response.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-store", "X-Accel-Buffering": "no" });
    response.write(`data: ${JSON.stringify(event)}\n\n`);
    // Disconnect a caller that does not read.
    if (response.writableLength > MAX_BUFFERED_BYTES) response.destroy();
  };
  await afterStop(thread);
  const wasIdle = thread.turn === null;
  const turn = agent.turns.prompt(thread, { text: prompt }, { permissions });
  let isOver = false;
  onGone(() => !isOver && void agent.turns.cancel(thread));
  const unlisten = agent.listen((event) => belongsTo(event, id) && send(event));
  const keepAlive = setInterval(() => response.headersSent && response.write(":\n\n"), KEEP_ALIVE_MS);
  try {
    // If the thread was busy, `turn` rejects, and the turn in progress belongs to another caller.
    if (wasIdle && thread.turn) send({ type: "conversation", conversation: thread.live.head });
    await turn;
    isOver = true;
    response.end();
  } finally {
    isOver = true;
    unlisten();
    clearInterval(keepAlive);
  }
}

function belongsTo(message: AgentMessage, id: string): boolean {
  return message.type === "conversation" ? message.conversation.id === id : "conversationId" in message && message.conversationId === id;
}
