import { ChangeSet, Text as DocumentText } from "@codemirror/state";
import fc from "fast-check";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { TogetherFromClient, TogetherFromDaemon } from "@berth/contract/workspace/together.ts";
import { createSharedFiles, type SharedFiles, type TextPage } from "../../../daemon/together/shared-files.ts";
import type { Documents } from "../state/documents/documents.ts";
import type { LiveText } from "../state/documents/open-files.ts";
import { createSharedDocument } from "./shared-document.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const path = "a.txt";
const START = "the start\nof a text\n";

// The next step, and the page that takes it. Messages wait until they are delivered.
const step = fc.record({
  page: fc.nat(2),
  act: fc.constantFrom("type", "type", "type", "deliver", "deliver", "deliver", "wait", "drop", "connect"),
  at: fc.nat(),
});

test("pages that lose their connection again and again end with the same text, and every character is there once", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
      const world = createWorld();
      for (const { page, act, at } of steps) world.pages[page]![act](at);
      world.settle();
      const [text = "", ...others] = world.pages.map(({ text: textOf }) => textOf());
      for (const other of others) expect(other).toBe(text);
      for (const typed of world.typed) expect([typed, text.split(typed).length - 1]).toEqual([typed, 1]);
      expect(
        Array.from(text)
          .filter((character) => character < "一")
          .join(""),
      ).toBe(START);
    }),
    { numRuns: 300 },
  );
});

test("pages end with the same text and lose nothing if the daemon forgets the text at any time", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), fc.array(step, { maxLength: 60 }), (before, after) => {
      const world = createWorld();
      for (const { page, act, at } of before) world.pages[page]![act](at);
      world.restartDaemon();
      for (const { page, act, at } of after) world.pages[page]![act](at);
      world.settle();
      const [text = "", ...others] = world.pages.map(({ text: textOf }) => textOf());
      for (const other of others) expect(other).toBe(text);
      for (const typed of world.typed) expect(text).toContain(typed);
    }),
    { numRuns: 200 },
  );
});

test("after a restart of the daemon, changes that were typed meanwhile are merged", () => {
  const world = createWorld();
  const [ada, bob] = world.pages as [Page, Page, Page];
  world.settle();
  ada.type(0);
  bob.type(19);
  world.settle();
  world.restartDaemon();
  ada.type(5);
  bob.type(12);
  world.settle();
  expect(ada.text()).toBe(bob.text());
  expect(ada.text()).toHaveLength(START.length + 4);
});

test("a version on disk that a program wrote becomes a change of one page, and one that a page saved is known to all", () => {
  const world = createWorld();
  world.settle();
  const [ada, bob] = world.pages as [Page, Page, Page];
  const disk = DocumentText.of(["by a program"]);
  expect(ada.recognize(disk, '"1"')).toBe("wait");
  expect(bob.recognize(disk, '"1"')).toBe("wait");
  world.deliverAll();
  expect(new Set([ada.recognize(disk, '"1"'), bob.recognize(disk, '"1"')])).toEqual(new Set(["foreign", "wait"]));
  expect(bob.recognize(DocumentText.of(START.split("\n")), '"2"')).toBe("ours");
  ada.type(0);
  world.settle();
  expect(bob.recognize(DocumentText.of(ada.text().split("\n")), '"3"')).toBe("ours");
});

type Page = ReturnType<typeof createWorld>["pages"][number];

function createWorld() {
  let daemon: SharedFiles = createSharedFiles();
  const typed: string[] = [];
  const pages = [0, 1, 2].map(createPage);
  const deliverAll = () => {
    while (pages.some((page) => page.deliver())) continue;
  };
  return {
    pages,
    typed,
    deliverAll,
    settle() {
      for (let round = 0; round < 20; round++) {
        for (const page of pages) page.connect();
        deliverAll();
        vi.advanceTimersByTime(50);
      }
      deliverAll();
    },
    restartDaemon() {
      for (const page of pages) page.drop();
      daemon = createSharedFiles();
    },
  };

  function createPage() {
    const saved = DocumentText.of(START.split("\n"));
    let doc = saved;
    let connection: { page: TextPage; toDaemon: TogetherFromClient[]; toPage: TogetherFromDaemon[] } | null = null;
    const listeners = new Set<(changes: ChangeSet) => void>();
    let sharing: Parameters<LiveText["share"]>[0] = null;
    const live: LiveText = {
      doc: () => doc,
      saved: () => saved,
      listen(listener) {
        listeners.add(listener);
        return { [Symbol.dispose]: () => void listeners.delete(listener) };
      },
      receive: (changes) => void (doc = changes.apply(doc)),
      edit(changes) {
        doc = changes.apply(doc);
        for (const listener of listeners) listener(changes);
      },
      share: (next) => (sharing = next),
    };
    const documents = {
      changed: () => {},
      documentAt: () => ({ edited: !doc.eq(saved), conflict: null }),
    } as unknown as Pick<Documents, "changed" | "documentAt">;
    const send = (message: TogetherFromClient) => connection !== null && connection.toDaemon.push(message) > 0;
    const shared = createSharedDocument({ path, live, documents, send, mayEdit: true });

    return {
      text: () => doc.toString(),
      recognize: (text: DocumentText, etag: string) => sharing?.recognize(text, etag),
      type(at: number) {
        const character = String.fromCodePoint(0x4e00 + typed.length);
        typed.push(character);
        live.edit(ChangeSet.of([{ from: at % (doc.length + 1), insert: character }], doc.length));
      },
      wait: () => void vi.advanceTimersByTime(30),
      connect() {
        if (connection) return;
        const toPage: TogetherFromDaemon[] = [];
        connection = { toPage, toDaemon: [], page: { isViewer: false, send: (message) => void toPage.push(structuredClone(message)) } };
        shared.connected();
      },
      drop() {
        if (!connection) return;
        daemon.leave(connection.page);
        connection = null;
        shared.disconnected();
      },
      // Delivers one message in each direction.
      deliver(): boolean {
        const sent = connection?.toDaemon.shift();
        if (sent && connection) toDaemon(connection.page, sent);
        const received = connection?.toPage.shift();
        if (received && received.type !== "people" && received.type !== "moved") shared.receive(received);
        return sent !== undefined || received !== undefined;
      },
    };
  }

  function toDaemon(page: TextPage, message: TogetherFromClient): void {
    if (message.type === "open") daemon.open(page, path, message.known);
    else if (message.type === "text") daemon.give(page, path, message.text);
    else if (message.type === "push") daemon.push(page, path, message);
    else if (message.type === "claim") daemon.claim(page, path, message.etag);
  }
}
