import type { AgentSession, Conversation } from "@berth/contract/agent.ts";
import { AppError } from "@berth/contract/errors.ts";
import { notFound } from "../http/errors.ts";
import type { AgentSessions } from "./agent-sessions/agent-sessions.ts";
import { messageOf } from "./program/connection.ts";
import type { Runner } from "./program/runner.ts";
import type { Thread } from "./thread.ts";
import { settleTools } from "./turns/turns.ts";

// Sessions that the agent has and no conversation does.
export interface FoundSessions {
  // Those of a running agent. A stopped one is not started for it.
  list(): Promise<AgentSession[]>;
  // Makes a conversation of one of them.
  adopt(sessionId: string): Promise<Conversation>;
  // The conversation is deleted. The agent may keep its session, so it hears of the end if it runs. Never throws.
  forget(thread: Thread): Promise<void>;
}

export interface FoundSessionsDeps {
  runner: Pick<Runner, "state" | "connect">;
  sessions: Pick<AgentSessions, "list" | "adopt" | "forget">;
  // Whether a conversation has this session.
  isTaken: (sessionId: string) => boolean;
  makeThread: () => Thread;
  drop: (thread: Thread) => void;
  onAdopted: (thread: Thread) => void;
}

export function createFoundSessions({ runner, sessions, isTaken, makeThread, drop, onAdopted }: FoundSessionsDeps): FoundSessions {
  return {
    async list() {
      if (runner.state.status !== "ready") return [];
      return await sessions.list(await runner.connect()).catch((error: unknown) => {
        console.error("The agent does not list its sessions:", error);
        return [];
      });
    },
    async adopt(sessionId) {
      const connection = await runner.connect();
      const found = (await sessions.list(connection)).find((each) => each.sessionId === sessionId);
      // Another browser may have asked at the same time.
      if (!found || isTaken(sessionId)) throw notFound("The agent has no such conversation, or it is open already");
      const thread = makeThread();
      const { head } = thread.live;
      // It is neither listed nor saved before it is complete.
      thread.draft = "shown";
      head.title = found.title;
      try {
        await sessions.adopt(thread, connection, sessionId);
      } catch (error) {
        drop(thread);
        throw new AppError("agent_failed", { message: `The agent could not open the conversation: ${messageOf(error)}` });
      }
      settleTools(thread.live);
      thread.draft = null;
      onAdopted(thread);
      return head;
    },
    async forget(thread) {
      if (runner.state.status !== "ready") return;
      try {
        await sessions.forget(thread, await runner.connect());
      } catch (error) {
        console.error("The agent keeps the session of a deleted conversation:", error);
      }
    },
  };
}
