import { MAX_SHARED_CHARS, type TextUpdate, type TogetherFromDaemon } from "@berth/contract/workspace/together.ts";
import { createSharedText, type SharedText } from "./shared-text.ts";

// Which pages have which text open, and the texts that are shared because several pages have them open. A page that is a viewer follows
// a text, and never gives or changes one.
export interface SharedFiles {
  open(page: TextPage, path: string, known?: { epoch: string; version: number }): void;
  close(page: TextPage, path: string): void;
  give(page: TextPage, path: string, text: string | null): void;
  push(page: TextPage, path: string, push: { epoch: string; version: number; updates: unknown }): void;
  claim(page: TextPage, path: string, etag: string): void;
  leave(page: TextPage): void;
}

export interface TextPage {
  isViewer: boolean;
  send(message: TogetherFromDaemon): void;
}

interface SharedFile {
  // The pages are in the order in which they opened the file.
  pages: Set<TextPage>;
  // The page that was asked for its text.
  asked: TextPage | null;
  text: SharedText | null;
  // The versions on disk that a page turns into a change, the latest last.
  claims: string[];
  forget: NodeJS.Timeout | null;
}

const MAX_FILES = 64;
const MAX_FILES_PER_PAGE = 100;
const MAX_CLAIMS = 20;
// After a lost connection, all pages come back and continue with the same text.
const KEEP_MS = 60_000;

export function createSharedFiles(): SharedFiles {
  const files = new Map<string, SharedFile>();

  function open(page: TextPage, path: string, known?: { epoch: string; version: number }): void {
    const opened = [...files.values()].filter(({ pages }) => pages.has(page)).length;
    if (opened >= MAX_FILES_PER_PAGE) return;
    const file = files.get(path) ?? { pages: new Set(), asked: null, text: null, claims: [], forget: null };
    files.set(path, file);
    if (file.forget) clearTimeout(file.forget);
    file.forget = null;
    file.pages.add(page);
    if (!file.text) {
      // The text that the page followed is forgotten.
      if (known) page.send({ type: "unshared", path });
      return ask(path, file);
    }
    const updates = known?.epoch === file.text.epoch ? file.text.since(known.version) : null;
    const { epoch, version, text } = file.text;
    if (known && updates) page.send({ type: "shared", path, epoch, version: known.version, updates });
    else page.send({ type: "shared", path, epoch, version, text });
  }

  // Asks a page for its text if several have it open and one of them may change it.
  function ask(path: string, file: SharedFile): void {
    if (file.text || file.asked || file.pages.size < 2) return;
    const [giver] = [...file.pages].filter(({ isViewer }) => !isViewer);
    if (!giver || [...files.values()].filter(({ text }) => text).length >= MAX_FILES) return;
    file.asked = giver;
    giver.send({ type: "give", path });
  }

  function close(page: TextPage, path: string): void {
    const file = files.get(path);
    if (!file?.pages.delete(page)) return;
    if (file.asked === page) {
      file.asked = null;
      ask(path, file);
    }
    if (file.pages.size > 0) return;
    if (!file.text) return void files.delete(path);
    file.forget = setTimeout(() => files.delete(path), KEEP_MS).unref();
  }

  function give(page: TextPage, path: string, text: string | null): void {
    const file = files.get(path);
    if (!file || file.asked !== page) return;
    file.asked = null;
    if (text === null || text.length > MAX_SHARED_CHARS) return;
    file.text = createSharedText(text);
    const { epoch, version } = file.text;
    for (const each of file.pages) each.send({ type: "shared", path, epoch, version, ...(each !== page && { text }) });
  }

  function push(page: TextPage, path: string, { epoch, version, updates }: { epoch: string; version: number; updates: unknown }): void {
    const file = files.get(path);
    if (!file?.text || page.isViewer || !file.pages.has(page)) return;
    if (file.text.epoch !== epoch) return open(page, path);
    const accepted = file.text.push(version, updates);
    if (accepted === "refused") return end(path, file);
    if (accepted === "behind") return open(page, path, { epoch, version });
    broadcast(file, { type: "updates", path, epoch, version, updates: accepted satisfies TextUpdate[] });
  }

  // All pages continue on their own, with the text that they have.
  function end(path: string, file: SharedFile): void {
    file.text = null;
    broadcast(file, { type: "unshared", path });
  }

  function broadcast({ pages }: SharedFile, message: TogetherFromDaemon): void {
    for (const page of pages) page.send(message);
  }

  return {
    open,
    close,
    give,
    push,
    claim(page, path, etag) {
      const file = files.get(path);
      if (!file?.text || page.isViewer || !file.pages.has(page) || file.claims.includes(etag)) return;
      file.claims = [...file.claims, etag].slice(-MAX_CLAIMS);
      page.send({ type: "claimed", path, etag });
    },
    leave(page) {
      for (const path of files.keys()) close(page, path);
    },
  };
}
