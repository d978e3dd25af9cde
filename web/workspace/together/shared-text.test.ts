import { ChangeSet, Text as DocumentText } from "@codemirror/state";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { TextUpdate } from "@berth/contract/workspace/together.ts";
import { createSharedText } from "../../../daemon/together/shared-text.ts";
import { changesBetween, createSharedTextCopy, rebase } from "./shared-text.ts";

const textOf = (text: string) => DocumentText.of(text.split("\n"));
const words = fc.string({ unit: fc.constantFrom("a", "b", "\n", "é", "🚢"), maxLength: 12 });

// A page types, sends what it has, or reads the next message from the daemon. Messages wait until they are read.
const step = fc.record({
  page: fc.nat(2),
  act: fc.constantFrom("type", "type", "send", "read", "read"),
  at: fc.nat(),
  length: fc.nat(4),
  insert: words,
});

test("pages that change a text at the same time end with the same text, whatever the delays, and no insertion is lost", () => {
  fc.assert(
    fc.property(words, fc.array(step, { maxLength: 80 }), (start, steps) => {
      const authority = createSharedText(start);
      const pages = [0, 1, 2].map((id) => ({
        copy: createSharedTextCopy(textOf(start), 0, `page${id}`),
        shown: textOf(start),
        inbox: [] as { version: number; updates: TextUpdate[] }[],
        isWaiting: false,
      }));
      let typed = 0;
      const send = (page: (typeof pages)[number]) => {
        const updates = page.copy.pending();
        if (page.isWaiting || updates.length === 0) return;
        page.isWaiting = true;
        const { version } = page.copy;
        const accepted = authority.push(version, updates);
        expect(accepted).not.toBe("refused");
        if (Array.isArray(accepted)) for (const each of pages) each.inbox.push({ version, updates: accepted });
        else page.inbox.push({ version, updates: authority.since(version) ?? [] });
      };
      const read = (page: (typeof pages)[number]) => {
        const message = page.inbox.shift();
        if (!message) return;
        page.isWaiting = false;
        const changes = page.copy.receive(message.version, message.updates);
        expect(changes).not.toBeNull();
        page.shown = changes!.apply(page.shown);
      };
      for (const { page: index, act, at, length, insert } of steps) {
        const page = pages[index]!;
        if (act === "send") send(page);
        else if (act === "read") read(page);
        else {
          const from = at % (page.shown.length + 1);
          // Marks every insertion, so that it can be found at the end. Deletions stay between marks.
          const mark = `<${typed++}>`;
          const to = /^[ab\n]*$/.test(page.shown.sliceString(from, from + length)) ? Math.min(page.shown.length, from + length) : from;
          const changes = ChangeSet.of([{ from, to, insert: textOf(mark + insert) }], page.shown.length);
          page.shown = changes.apply(page.shown);
          page.copy.edited(changes);
        }
        expect(page.copy.doc.eq(page.shown)).toBe(true);
      }
      while (pages.some(({ inbox, copy }) => inbox.length > 0 || copy.pending().length > 0))
        for (const page of pages) {
          while (page.inbox.length > 0) read(page);
          send(page);
        }
      for (const { shown, copy } of pages) {
        expect(shown.toString()).toBe(authority.text);
        expect(copy.confirmed.at(-1)!.toString()).toBe(authority.text);
      }
      const marks = authority.text.match(/<\d+>/g) ?? [];
      // A person may type inside another one's mark, so only the digits count.
      for (let mark = 0; mark < typed; mark++) if (!/<\d*<|>\d*>/.test(authority.text)) expect(marks).toContain(`<${mark}>`);
    }),
    { numRuns: 300 },
  );
});

test("a text that two pages changed while they were apart has the changes of both", () => {
  const base = textOf("one\ntwo\nthree\n");
  const [mine, theirs] = [textOf("ONE\ntwo\nthree\n"), textOf("one\ntwo\nthree\nfour\n")];
  expect(rebase(base, mine, theirs).apply(theirs).toString()).toBe("ONE\ntwo\nthree\nfour\n");
  fc.assert(
    fc.property(words, words, (from, to) => {
      expect(changesBetween(textOf(from), textOf(to)).apply(textOf(from)).toString()).toBe(to);
    }),
  );
});

test("the daemon refuses changes that are none of the text, and updates of an older version", () => {
  const text = createSharedText("abc");
  const push = (changes: unknown, version = 0) => text.push(version, [{ clientId: "x", changes }]);
  expect(push([4])).toBe("refused");
  expect(push([2])).toBe("refused");
  expect(push([1, [-1, "x"], 2])).toBe("refused");
  expect(push([3, [0, "a\nb"]])).toBe("refused");
  expect(push("x")).toBe("refused");
  expect(push([1, [1, "x", "y"], 1])).toHaveLength(1);
  expect([text.text, text.version]).toEqual(["ax\nyc", 1]);
  expect(push([3])).toBe("behind");
});
