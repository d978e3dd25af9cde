import { randomBytes } from "node:crypto";
import { EventEmitter } from "node:events";
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import type { ServerResponse } from "node:http";
import type { OutboxEntry, OutboxList } from "@berth/contract/daemon-internal.ts";
import { isStringArray, readJson } from "../http/body.ts";
import { badRequest } from "../http/errors.ts";
import { sendJson } from "../http/reply.ts";
import type { Route } from "../http/route.ts";

// News for the server that must not be lost. They stay here, and in a file, until the server has recorded them.
export interface Outbox {
  // `id`: for an entry that may be added again after a restart. The server records it once.
  add(entry: Pick<OutboxEntry, "type" | "data"> & { id?: string }): void;
  list(): OutboxEntry[];
  // Forgets entries that the server has recorded.
  remove(ids: readonly string[]): void;
  // Calls back before entries are forgotten.
  onRemove(listener: (entries: readonly OutboxEntry[]) => void): void;
  // Resolves when there are entries, after the time, or when the caller is gone.
  wait(ms: number, caller: ServerResponse): Promise<void>;
  // Reads the file again, after the folder was cleared.
  load(): void;
}

// Far more than comes together while a server restarts. Beyond it the oldest are lost.
const MAX_ENTRIES = 5000;
// In one response. Reports of runs have texts and lists of files, and the server reads at most 4 MiB.
const MAX_SENT = 32;
const MAX_SENT_LENGTH = 256 * 1024;

export function openOutbox(file: string): Outbox {
  let entries: OutboxEntry[] = [];
  const news = new EventEmitter();
  const removeListeners: ((entries: readonly OutboxEntry[]) => void)[] = [];

  return {
    add(added) {
      if (entries.some(({ id }) => id === added.id)) return;
      const entry = { id: randomBytes(12).toString("hex"), at: new Date().toISOString(), ...added };
      entries.push(entry);
      if (entries.length > MAX_ENTRIES) entries = entries.slice(-MAX_ENTRIES);
      write(() => appendFileSync(file, lineOf(entry), { mode: 0o600 }));
      news.emit("entry");
    },
    list: () => entries,
    remove(ids) {
      const known = new Set(ids);
      const left = entries.filter(({ id }) => !known.has(id));
      if (left.length === entries.length) return;
      const removed = entries.filter(({ id }) => known.has(id));
      for (const listener of removeListeners) listener(removed);
      entries = left;
      write(() => writeFileSync(file, left.map(lineOf).join(""), { mode: 0o600 }));
    },
    onRemove: (listener) => void removeListeners.push(listener),
    async wait(ms, caller) {
      if (entries.length > 0 || ms === 0) return;
      await new Promise<void>((resolve) => {
        const done = () => {
          clearTimeout(timer);
          news.off("entry", done);
          caller.off("close", done);
          resolve();
        };
        const timer = setTimeout(done, ms);
        news.on("entry", done);
        caller.on("close", done);
      });
    },
    load: () => void (entries = read(file)),
  };

  // On a full disk the entries are only in memory.
  function write(action: () => void): void {
    try {
      if (!existsSync(dirname(file))) mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
      action();
    } catch (error) {
      console.error("News for the server could not be saved:", error);
    }
  }
}

const lineOf = (entry: OutboxEntry): string => `${JSON.stringify(entry)}\n`;

// The user can write to this file, and a crash can leave half a line. Such lines are skipped.
function read(file: string): OutboxEntry[] {
  let text = "";
  try {
    text = readFileSync(file, "utf8");
  } catch {
    // There is none yet.
  }
  return text.split("\n").flatMap((line) => {
    try {
      const entry = JSON.parse(line) as OutboxEntry;
      return /^[0-9a-f]{24}$/.test(entry.id) && typeof entry.type === "string" ? [entry] : [];
    } catch {
      return [];
    }
  });
}

const MAX_WAIT_MS = 60_000;

// At least one, whatever its length.
export function firstOf(entries: readonly OutboxEntry[]): OutboxEntry[] {
  let length = 0;
  const end = entries.findIndex((entry, index) => index >= MAX_SENT || (length += lineOf(entry).length) > MAX_SENT_LENGTH);
  return end < 0 ? [...entries] : entries.slice(0, Math.max(1, end));
}

export function outboxRoutes(outbox: Outbox, open: () => number): Route[] {
  return [
    {
      method: "GET",
      path: "/internal/outbox",
      async handle({ query, response }) {
        const waitMs = Math.min(MAX_WAIT_MS, Number(query.get("waitMs")) || 0);
        await outbox.wait(waitMs, response);
        const sent = firstOf(outbox.list());
        sendJson(response, 200, { entries: sent, open: open(), left: outbox.list().length - sent.length } satisfies OutboxList);
      },
    },
    {
      method: "POST",
      path: "/internal/outbox",
      async handle({ request, response }) {
        const { recorded } = await readJson(request);
        if (!isStringArray(recorded)) throw badRequest("recorded must be an array of strings");
        outbox.remove(recorded);
        response.writeHead(204).end();
      },
    },
  ];
}
