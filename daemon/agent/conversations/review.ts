import type { AgentCommand } from "@berth/contract/agent.ts";
import { badRequest, notFound } from "../../http/errors.ts";
import type { LiveConversation } from "./conversation.ts";

const MAX_HUNKS = 1000;

type Review = Extract<AgentCommand, { type: "review" }>;

// Remembers what a person has decided about hunks of an edit.
export function reviewDiff(live: LiveConversation, { itemId, path, hunks, decision }: Review): void {
  const item = live.items.get(itemId);
  if (item?.kind !== "tool" || !item.content.some((part) => part.type === "diff" && part.path === path))
    throw notFound("There is no such edit");
  if (decision !== "accepted" && decision !== "rejected") throw badRequest("decision must be accepted or rejected");
  const isIndex = (hunk: unknown) => Number.isInteger(hunk) && (hunk as number) >= 0 && (hunk as number) < MAX_HUNKS;
  if (!Array.isArray(hunks) || hunks.length > MAX_HUNKS || !hunks.every(isIndex)) throw badRequest("hunks must be an array of indexes");
  const decided = Object.fromEntries(hunks.map((hunk) => [hunk, decision]));
  const content = item.content.map((part) =>
    part.type === "diff" && part.path === path ? { ...part, review: { ...part.review, ...decided } } : part,
  );
  live.replace({ ...item, content });
}
