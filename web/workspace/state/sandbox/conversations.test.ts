import { expect, test } from "vitest";
import type { AgentMessage, Conversation, ConversationItem } from "@berth/contract/agent.ts";
import type { AgentState } from "@berth/contract/daemon.ts";
import { updateAgentView, initialAgentView, type AgentView } from "./conversations.ts";

const agent: AgentState = { status: "ready", name: "goose" };
const conversation = (id: string, updatedAtMs: number): Conversation => ({
  id,
  title: id,
  createdAtMs: 0,
  updatedAtMs,
  busy: false,
  usage: null,
  modes: null,
  models: null,
  options: [],
  commands: [],
  queue: [],
  modelWait: null,
  renamed: false,
  alwaysAllowed: [],
  rules: [],
});
const says = (id: string, text: string): ConversationItem => ({ id, atMs: 0, kind: "assistant", text });
const after = (view: AgentView, ...messages: AgentMessage[]) => messages.reduce(updateAgentView, view);

test("streamed text is appended to its item", () => {
  const view = after(
    initialAgentView,
    { type: "opened", conversationId: "a", items: [] },
    { type: "item", conversationId: "a", item: says("1", "Hel") },
    { type: "append", conversationId: "a", itemId: "1", text: "lo" },
  );
  expect(view.items["a"]).toEqual([says("1", "Hello")]);
});

test("an item sent again replaces the one with its id, in place", () => {
  const view = after(
    initialAgentView,
    { type: "opened", conversationId: "a", items: [says("1", "x"), says("2", "y")] },
    { type: "item", conversationId: "a", item: says("1", "z") },
  );
  expect(view.items["a"]).toEqual([says("1", "z"), says("2", "y")]);
});

test("a conversation started by our prompt is shown, one started elsewhere is not", () => {
  const pending: AgentView = { ...initialAgentView, pendingPrompt: { requestId: "r1", prompt: { text: "hi" }, conversationId: null } };
  expect(after(pending, { type: "created", requestId: "r1", conversation: conversation("a", 1) })).toMatchObject({
    current: "a",
    pendingPrompt: null,
  });
  expect(after(pending, { type: "created", requestId: "other", conversation: conversation("b", 1) })).toMatchObject({ current: null });
});

test("after a reconnect the conversation stays on screen and its items are requested again", () => {
  const view: AgentView = { ...initialAgentView, current: "a", items: { a: [says("1", "x")] } };
  expect(after(view, { type: "hello", agent, conversations: [conversation("a", 1)] })).toMatchObject({ current: "a", items: {} });
  expect(after(view, { type: "hello", agent, conversations: [] })).toMatchObject({ current: null });
});

test("the most recently used conversation comes first", () => {
  const view = after(
    initialAgentView,
    { type: "hello", agent, conversations: [conversation("a", 1), conversation("b", 0)] },
    { type: "conversation", conversation: conversation("b", 2) },
  );
  expect(view.conversations.map(({ id }) => id)).toEqual(["b", "a"]);
});

test("a conversation deleted elsewhere disappears", () => {
  const view: AgentView = { ...initialAgentView, current: "a", conversations: [conversation("a", 1)], items: { a: [] } };
  expect(after(view, { type: "deleted", conversationId: "a" })).toMatchObject({ current: null, conversations: [], items: {} });
});

test("a refused prompt is returned together with the reason", () => {
  const pending: AgentView = { ...initialAgentView, pendingPrompt: { requestId: "r1", prompt: { text: "hi" }, conversationId: null } };
  const view = after(pending, { type: "refused", requestId: "r1", code: "agent_busy", message: "The agent is busy" });
  expect(view).toMatchObject({ pendingPrompt: null, returnedPrompt: { text: "hi" }, refusal: "The agent is busy" });
});

test("a prompt that was pending at a disconnect is returned, a confirmed one is not", () => {
  const pending: AgentView = {
    ...initialAgentView,
    items: { a: [] },
    pendingPrompt: { requestId: "r1", prompt: { text: "hi" }, conversationId: "a" },
  };
  const hello: AgentMessage = { type: "hello", agent, conversations: [conversation("a", 1)] };
  const shown: AgentMessage = { type: "item", conversationId: "a", item: { id: "1", atMs: 0, kind: "user", text: "hi" } };
  expect(after(pending, hello).returnedPrompt).toEqual({ text: "hi" });
  expect(after(pending, shown, hello).returnedPrompt).toBeNull();
});

test("the conversation that was prepared for this page is shown, unless the person has chosen another one", () => {
  const preparing: AgentView = { ...initialAgentView, preparing: "r1" };
  const prepared: AgentMessage = { type: "created", requestId: "r1", conversation: conversation("a", 1) };
  expect(after(preparing, prepared)).toMatchObject({ current: "a", prepared: "a", preparing: null });
  expect(after({ ...preparing, current: "b" }, prepared)).toMatchObject({ current: "b", prepared: "a" });
  // With its first prompt it becomes an ordinary one.
  const busy: AgentMessage = { type: "conversation", conversation: { ...conversation("a", 2), busy: true } };
  expect(after(preparing, prepared, busy)).toMatchObject({ current: "a", prepared: null });
});

test("a prompt that waits in the queue is confirmed", () => {
  const pending: AgentView = { ...initialAgentView, pendingPrompt: { requestId: "r1", prompt: { text: "next" }, conversationId: "a" } };
  const queued = { ...conversation("a", 1), busy: true, queue: [{ id: "q", text: "next" }] };
  expect(after(pending, { type: "conversation", conversation: queued }).pendingPrompt).toBeNull();
});
