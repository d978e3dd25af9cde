import { expect, test } from "vitest";
import { conversationMarkdown } from "./export-conversation.ts";

test("a conversation is exported as Markdown, without thoughts", () => {
  const at = { atMs: 1 };
  const text = conversationMarkdown("A parser", [
    { ...at, id: "1", kind: "user", text: "Write it" },
    { ...at, id: "2", kind: "thought", text: "Hm" },
    { ...at, id: "3", kind: "tool", title: "touch a", toolKind: "execute", status: "completed", locations: [], content: [] },
    { ...at, id: "4", kind: "assistant", text: "Done, **really**." },
    { ...at, id: "5", kind: "notice", level: "error", text: "The model does not answer." },
  ]);
  expect(text).toBe(
    "# A parser\n\n## You\n\nWrite it\n\n- touch a (completed)\n\n## Agent\n\nDone, **really**.\n\n> The model does not answer.\n",
  );
});
