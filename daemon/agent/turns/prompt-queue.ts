import { randomBytes } from "node:crypto";
import type { Prompt, StopReason } from "@berth/contract/agent.ts";
import { AppError } from "@berth/contract/errors.ts";
import { notFound } from "../../http/errors.ts";
import { afterStop, type Thread } from "../thread.ts";
import type { Turns } from "./turns.ts";

// The prompts of a conversation that wait for the end of its turn.
export interface PromptQueue {
  add(thread: Thread, prompt: Prompt): Promise<void>;
  remove(thread: Thread, id: string): void;
  // Sends one of them although the queue has stopped.
  send(thread: Thread, id: string): Promise<void>;
  onTurnEnd(thread: Thread, stopReason: StopReason): void;
}

const MAX_QUEUED = 20;

export function createPromptQueue(turns: () => Pick<Turns, "prompt">): PromptQueue {
  return {
    async add(thread, prompt) {
      const { live } = thread;
      // A message after a stop begins the next turn. Only earlier ones wait for a person.
      await afterStop(thread);
      if (!thread.turn) return void (await turns().prompt(thread, prompt));
      if (live.head.queue.length >= MAX_QUEUED) throw new AppError("too_many", { message: `At most ${MAX_QUEUED} messages can wait` });
      live.changeHead({ queue: [...live.head.queue, { id: `queued_${randomBytes(8).toString("hex")}`, ...prompt }] });
    },
    remove: (thread, id) => void take(thread, id),
    async send(thread, id) {
      if (thread.turn) throw new AppError("agent_busy");
      await turns().prompt(thread, take(thread, id));
    },
    // After an error or a cancel, the next message may no longer make sense. A person decides.
    onTurnEnd(thread, stopReason) {
      const next = thread.live.head.queue[0];
      if (!next || stopReason === "cancelled" || stopReason === "error") return;
      turns()
        .prompt(thread, take(thread, next.id))
        .catch((error: unknown) => console.error("A queued prompt could not be sent:", error));
    },
  };

  function take({ live }: Thread, id: string): Prompt {
    const queued = live.head.queue.find((each) => each.id === id);
    if (!queued) throw notFound("This message is no longer in the queue");
    live.changeHead({ queue: live.head.queue.filter((each) => each !== queued) });
    const { id: _id, ...prompt } = queued;
    return prompt;
  }
}
