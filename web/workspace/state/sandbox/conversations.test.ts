import { expect, test } from "vitest";
import type { AgentMessage, Conversation, ConversationItem } from "@berth/contract/agent.ts";
import type { AgentState } from "@berth/contract/daemon.ts";
import { hearAgent, noAgentView, type AgentView } from "./conversations.ts";

const agent: AgentState = { status: "ready", name: "goose" };
const conversation = (id: string, updatedAtMs: number): Conversation => ({
  id,
  title: id,
  createdAtMs: 0,
  updatedAtMs,
  busy: false,
  usage: null,
  modes: null,
});
const says = (id: string, text: string): ConversationItem => ({ id, atMs: 0, kind: "assistant", text });
const after = (view: AgentView, ...messages: AgentMessage[]) => messages.reduce(hearAgent, view);

test("text grows as it is streamed", () => {
  const view = after(
    noAgentView,
    { type: "opened", conversationId: "a", items: [] },
    { type: "item", conversationId: "a", item: says("1", "Hel") },
    { type: "append", conversationId: "a", itemId: "1", text: "lo" },
  );
  expect(view.items["a"]).toEqual([says("1", "Hello")]);
});

test("an item that is told again replaces the one with its id, in its place", () => {
  const view = after(
    noAgentView,
    { type: "opened", conversationId: "a", items: [says("1", "x"), says("2", "y")] },
    { type: "item", conversationId: "a", item: says("1", "z") },
  );
  expect(view.items["a"]).toEqual([says("1", "z"), says("2", "y")]);
});

test("the conversation that a prompt began is shown, one that somebody else began is not", () => {
  const asking: AgentView = { ...noAgentView, asking: { requestId: "r1", text: "hi", conversationId: null } };
  expect(after(asking, { type: "created", requestId: "r1", conversation: conversation("a", 1) })).toMatchObject({
    current: "a",
    asking: null,
  });
  expect(after(asking, { type: "created", requestId: "other", conversation: conversation("b", 1) })).toMatchObject({ current: null });
});

test("after a reconnect what was shown stays shown, and its items are asked for anew", () => {
  const view: AgentView = { ...noAgentView, current: "a", items: { a: [says("1", "x")] } };
  expect(after(view, { type: "hello", agent, conversations: [conversation("a", 1)] })).toMatchObject({ current: "a", items: {} });
  expect(after(view, { type: "hello", agent, conversations: [] })).toMatchObject({ current: null });
});

test("the last used conversation comes first", () => {
  const view = after(
    noAgentView,
    { type: "hello", agent, conversations: [conversation("a", 1), conversation("b", 0)] },
    { type: "conversation", conversation: conversation("b", 2) },
  );
  expect(view.conversations.map(({ id }) => id)).toEqual(["b", "a"]);
});

test("a conversation deleted elsewhere leaves the screen", () => {
  const view: AgentView = { ...noAgentView, current: "a", conversations: [conversation("a", 1)], items: { a: [] } };
  expect(after(view, { type: "deleted", conversationId: "a" })).toMatchObject({ current: null, conversations: [], items: {} });
});

test("a refusal is kept in plain words, and the prompt is given back", () => {
  const asking: AgentView = { ...noAgentView, asking: { requestId: "r1", text: "hi", conversationId: null } };
  const view = after(asking, { type: "refused", requestId: "r1", code: "agent_busy", message: "The agent is busy" });
  expect(view).toMatchObject({ asking: null, returned: "hi", refusal: "The agent is busy" });
});

test("a prompt that was on its way when the line broke is given back, one that arrived is not", () => {
  const asking: AgentView = { ...noAgentView, items: { a: [] }, asking: { requestId: "r1", text: "hi", conversationId: "a" } };
  const hello: AgentMessage = { type: "hello", agent, conversations: [conversation("a", 1)] };
  const shown: AgentMessage = { type: "item", conversationId: "a", item: { id: "1", atMs: 0, kind: "user", text: "hi" } };
  expect(after(asking, hello).returned).toBe("hi");
  expect(after(asking, shown, hello).returned).toBeNull();
});
