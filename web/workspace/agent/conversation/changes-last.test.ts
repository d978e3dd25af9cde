import { expect, test } from "vitest";
import type { ConversationItem } from "@berth/contract/agent.ts";
import { changesLast } from "./changes-last.ts";

test("the changes of a turn come after everything else in it", () => {
  const items = ["user", "tool", "changes", "assistant", "user", "assistant", "changes", "notice", "restore"].map(
    (kind, index) => ({ kind, id: String(index) }) as ConversationItem,
  );
  expect(changesLast(items).map(({ id }) => id)).toEqual(["0", "1", "3", "2", "4", "5", "7", "6", "8"]);
});
