import { join } from "node:path";
import type { AgentMessage, Conversation, PermissionRule } from "@berth/contract/agent.ts";
import type { AgentState } from "@berth/contract/daemon.ts";
import { AppError } from "@berth/contract/errors.ts";
import type { Environment } from "../programs/environment.ts";
import { type AgentHandlers, runningPids } from "./program/connection.ts";
import type { Terminals } from "../terminals/terminals.ts";
import type { WorkspaceFolder } from "../files/workspace-folder.ts";
import { type AgentSessions, createAgentSessions, CURRENT_STATE } from "./agent-sessions/agent-sessions.ts";
import { chooseAgent, isModelFixed } from "./program/availability.ts";
import { createCheckpoints } from "./checkpoints/checkpoints.ts";
import { createRestores, type Restores } from "./checkpoints/restores.ts";
import { openSessionIds } from "./conversations/session-ids.ts";
import { textOf } from "./conversations/tool-item.ts";
import { createFoundSessions, type FoundSessions } from "./found-sessions.ts";
import { createModelForwarder } from "./model/model-forwarder.ts";
import { createModelWatch } from "./model-watch.ts";
import { type ImageStore, openImageStore } from "./prompts/image-store.ts";
import { createPromptQueue, type PromptQueue } from "./turns/prompt-queue.ts";
import { createElicitations } from "./questions/elicitations.ts";
import { createMcpServers } from "./mcp/mcp-servers.ts";
import { answerQuestion, parseAnswer } from "./questions/questions.ts";
import { createRunner, type Runner } from "./program/runner.ts";
import { isRestriction } from "./rules/decide.ts";
import { prepareRun } from "./runs/prepare-run.ts";
import { readPrompt } from "./runs/run-prompt.ts";
import type { RunStore } from "./runs/run-store.ts";
import { createRuns, type Runs } from "./runs/runs.ts";
import type { Thread } from "./thread.ts";
import { openThreads } from "./threads.ts";
import { createReviews, type Reviews } from "./turn-changes/reviews.ts";
import { createTurns, type Turns } from "./turns/turns.ts";

// A part of the same bundle, because it uses the same protocol library.
export { attachRemote } from "./remote/remote-client.ts";

// The agent behind the routes (routes.ts), which load this module on first use.
export interface Agent {
  readonly state: AgentState;
  start(): void;
  stop(): void;
  // Writes unsaved changes to disk synchronously.
  save(): void;
  conversations(): Conversation[];
  create(): Conversation;
  // A conversation that is not listed before its first prompt. `release` gives it to the next panel.
  prepare(): Thread;
  release(thread: Thread): void;
  isDraft(id: string): boolean;
  thread(id: string): Thread;
  remove(id: string): void;
  // The sessions of a running agent that no conversation has had, and a conversation with one of them.
  found: FoundSessions["list"];
  adopt: FoundSessions["adopt"];
  // Answers a question of a conversation. `answer` is a QuestionAnswer that nothing has checked.
  answer(id: string, itemId: string, answer: object): void;
  turns: Turns;
  runs: Runs;
  queue: PromptQueue;
  runner: Pick<Runner, "connect" | "signIn">;
  sessions: AgentSessions;
  images: ImageStore;
  restores: Restores;
  reviews: Reviews;
  // A person saves a file of the workspace.
  noteSave(path: string): void;
  // The process of the agent, if it is running.
  pids(): number[];
  // The ports that the daemon opens for it.
  ports(): number[];
  // Milliseconds since the agent last worked: 0 while it does, null if it never did.
  idleMs(): number | null;
  // Calls the listener for every change. Returns the function that removes it.
  listen(listener: (message: AgentMessage) => void): () => void;
}

export interface AgentDeps {
  environment: Environment;
  workspace: WorkspaceFolder;
  // The folder for conversations.
  folder: string;
  runInTerminal: Terminals["run"];
  onStateChange: (state: AgentState) => void;
  // The runs on disk, loaded.
  runs: RunStore;
}

export function createAgent({ environment, workspace: files, folder, runInTerminal, onStateChange, runs: runStore }: AgentDeps): Agent {
  const workspace = files.root;
  const listeners = new Set<(message: AgentMessage) => void>();
  let lastWorkedMs: number | null = null;

  const handlers: AgentHandlers = {
    update({ sessionId, update }) {
      const thread = threads.bySession(sessionId);
      if (!thread) sessions.keepEarly(sessionId, update);
      else if (thread.replaying === "shown" && update.sessionUpdate === "user_message_chunk") thread.live.said(textOf(update.content));
      else if (thread.replaying !== "ignored" || CURRENT_STATE.has(update.sessionUpdate)) thread.live.apply(update);
      const isToolEnd = update.sessionUpdate === "tool_call_update" && (update.status === "completed" || update.status === "failed");
      if (isToolEnd) thread?.turn?.changes?.refresh();
    },
    permission(request) {
      const thread = threads.bySession(request.sessionId);
      // The turn waits for a person now.
      lastWorkedMs = performance.now();
      return thread ? turns.ask(thread, request) : Promise.resolve({ outcome: { outcome: "cancelled" } });
    },
    elicitation(request, signal) {
      lastWorkedMs = performance.now();
      return elicitations.create("sessionId" in request ? threads.bySession(String(request.sessionId)) : opening(), request, signal);
    },
    elicitationComplete: (notification) => elicitations.complete(notification),
  };

  const modelWatch = createModelWatch({
    threads: () => threads.all().filter(({ turn }) => turn !== null),
    onGiveUp: (thread, turn) => void turns.interrupt(thread, turn),
  });
  const model = createModelForwarder(modelWatch.observer);
  const threads = openThreads({ folder, workspace, clean: model.hideAddresses, templateRules, onChange: publish });
  const runner = createRunner({
    environment,
    cwd: workspace,
    handlers,
    model,
    runInTerminal,
    onStateChange({ status }) {
      announce();
      if (status === "ready")
        void runner.connect().then(
          ({ about }) => mcpServers.check(about),
          () => {},
        );
    },
    onDeath(reason) {
      for (const thread of threads.all())
        thread.turn?.abandon(new AppError("agent_failed", { message: `${reason} It is restarting; send your message again.` }));
    },
  });

  const mcpServers = createMcpServers(environment, announce);
  const elicitations = createElicitations(model.hideAddresses);
  const sessions = createAgentSessions({
    workspace,
    ids: openSessionIds(folder),
    threads: threads.all,
    mcpServers: (about) => mcpServers.forAgent(about),
    isModelFixed: () => isModelFixed(environment),
  });
  const checkpoints = createCheckpoints({ workspace: files, environment, folder: join(folder, "checkpoints") });
  const images = openImageStore(join(folder, "images"));
  const queue = createPromptQueue(() => turns);
  const isBusy = () => threads.turns().length > 0;
  const restores = createRestores({ checkpoints, isBusy });
  const reviews = createReviews({ workspace: files, checkpoints, isBusy });
  const turns = createTurns({
    beginAnswers: modelWatch.beginAnswers,
    runner,
    sessions,
    checkpoints,
    images,
    clean: model.hideAddresses,
    workspace,
    templateRules,
    firstMode: () => (templateRules().some(isRestriction) ? (chooseAgent(environment)?.askingModes?.[0] ?? null) : null),
    onTurnEnd(thread, end) {
      lastWorkedMs = performance.now();
      publish({ type: "turn", conversationId: thread.live.head.id, ...end });
      threads.save();
      queue.onTurnEnd(thread, end.stopReason);
    },
  });

  const found = createFoundSessions({
    runner,
    sessions,
    isTaken: (sessionId) => threads.bySession(sessionId) !== undefined,
    makeThread: threads.make,
    drop: ({ live }) => threads.drop(live.head.id),
    onAdopted({ live: { head } }) {
      threads.save();
      publish({ type: "conversation", conversation: head });
    },
  });

  const runs = createRuns({
    store: runStore,
    turns,
    thread: threads.find,
    create: startConversation,
    answer,
    listen: (listener) => void listeners.add(listener),
    readPrompt: (prompt) => readPrompt(prompt, files),
    saveConversations: threads.save,
    prepare: (run, thread, connection) =>
      prepareRun(run, thread, connection, { sessions, askingModes: () => chooseAgent(environment)?.askingModes }),
  });

  return {
    get state() {
      return stateWithServers();
    },
    start: () => void runner.connect().catch(() => {}),
    stop() {
      for (const thread of threads.all()) thread.turn?.abandon(new AppError("agent_stopped", { message: "The agent was stopped." }));
      runner.stop();
    },
    save: threads.save,
    conversations: () =>
      threads
        .listed()
        .map(({ live }) => live.head)
        .toSorted((a, b) => b.updatedAtMs - a.updatedAtMs),
    create: () => startConversation().live.head,
    prepare: threads.draft,
    release: (thread) => void (thread.draft &&= "waiting"),
    isDraft: threads.isDraft,
    thread: threads.find,
    remove(id) {
      const thread = threads.find(id);
      void turns.cancel(thread).then(() => found.forget(thread));
      threads.remove(id);
      publish({ type: "deleted", conversationId: id });
    },
    found: found.list,
    adopt: found.adopt,
    answer,
    turns,
    runs,
    queue,
    runner,
    sessions,
    images,
    restores,
    reviews,
    noteSave: (path) => threads.turns().forEach(({ changes }) => changes?.noteSave(path)),
    pids: runningPids,
    ports: model.ports,
    idleMs() {
      if (threads.all().some(({ turn }) => turn && turn.waiting.size === 0)) return 0;
      return lastWorkedMs === null ? null : Math.round(performance.now() - lastWorkedMs);
    },
    listen(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };

  function answer(id: string, itemId: string, given: object): void {
    answerQuestion(threads.find(id), itemId, parseAnswer({ ...given }));
  }

  function startConversation(): Thread {
    const thread = threads.make();
    publish({ type: "conversation", conversation: thread.live.head });
    return thread;
  }

  function templateRules(): PermissionRule[] {
    return chooseAgent(environment)?.permissions ?? [];
  }

  function stateWithServers(): AgentState {
    const { state } = runner;
    const servers = state.status === "ready" ? mcpServers.state : undefined;
    return servers ? { ...state, mcpServers: servers } : state;
  }

  function announce(): void {
    const state = stateWithServers();
    onStateChange(state);
    publish({ type: "agent", agent: state });
  }

  function publish(message: AgentMessage): void {
    for (const listener of listeners) listener(message);
  }

  // An agent that asks while it opens a session cannot name the session yet.
  function opening(): Thread | undefined {
    const [first, ...others] = threads.all().filter((thread) => thread.opening && thread.turn);
    return others.length === 0 ? first : undefined;
  }
}
