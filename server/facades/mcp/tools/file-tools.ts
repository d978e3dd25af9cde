import Type from "typebox";
import { AppError } from "@berth/contract";
import type { FileTree } from "@berth/contract/daemon/files.ts";
import type { SearchEvent, WrittenFile } from "@berth/contract/daemon.ts";
import { readBody } from "../../../bounded-io/read-body.ts";
import { splitLines } from "../../../bounded-io/split-lines.ts";
import { pathQuery, type InSandbox } from "../in-sandbox.ts";
import { readStart } from "../read-start.ts";
import { jsonResult, MAX_CHARS, textResult } from "../results.ts";
import type { InSession, Tool } from "../tool.ts";
import { path, sessionId } from "./fields.ts";
import { applyEdits, type Edit } from "./edits.ts";

const WRITTEN = { path: "string", size: "number" } as const;
const ENTRY = { path: "string", type: "string", size: "number" } as const;
const MAX_LISTED = 500;
const MAX_PATCHED_BYTES = 2 * 1024 * 1024;
const MAX_LINE_LENGTH = 256 * 1024;
const MAX_MATCH_LENGTH = 300;

type OnFile = InSession & { path: string };

export const createFileTools = (inSandbox: InSandbox): Tool[] => [
  {
    name: "read_file",
    title: "Read a file",
    description:
      "Returns the text of a file. A file that is too long for one result is read in parts: pass the nextOffset of a result as offset.",
    input: Type.Object({
      sessionId,
      path,
      offset: Type.Optional(Type.Integer({ minimum: 0, default: 0, description: "The byte to begin with." })),
    }),
    scope: "sessions",
    tokenScope: "files",
    hints: { reads: true },
    call: (input: OnFile & { offset?: number }, call) =>
      inSandbox(call, input, async (sandbox) => {
        const offset = input.offset ?? 0;
        const headers = { ...(offset > 0 && { range: `bytes=${offset}-` }) };
        const { body, headers: sent } = await sandbox.open("GET", "/files/content", { query: pathQuery(input.path), headers });
        const { text, bytes, isCut, isText } = await readStart(body, MAX_CHARS);
        const size = offset + (Number(sent["content-length"]) || bytes);
        if (!isText) {
          const message = `${input.path} is not text: it has ${size} bytes. Look at it with a program, by exec`;
          throw new AppError("bad_request", { message });
        }
        await sandbox.admitBytes(bytes);
        const nextOffset = isCut ? offset + bytes : null;
        const note = isCut ? `\n[${bytes} of ${size} bytes; read on with offset ${nextOffset}]` : "";
        return textResult(text + note, { text, offset, nextOffset, size });
      }),
  },
  {
    name: "write_file",
    title: "Write a file",
    description: "Creates a file, with its folders, or replaces all of its content. To change a part of a file, use patch_file.",
    input: Type.Object({ sessionId, path, content: Type.String({ description: "The whole content." }) }),
    scope: "sessions",
    tokenScope: "files",
    hints: { destroys: true, idempotent: true },
    call: (input: OnFile & { content: string }, call) =>
      inSandbox(call, input, async (sandbox) => {
        const sent = { query: pathQuery(input.path), body: Buffer.from(input.content) };
        const written = await sandbox.read<WrittenFile>("PUT", "/files/content", WRITTEN, sent);
        return jsonResult({ path: written.path, size: written.size });
      }),
  },
  {
    name: "patch_file",
    title: "Change a file",
    description:
      "Replaces pieces of a file. Each oldText must be in the file exactly once, with the same spaces and line breaks; add lines around it until it is. All edits are made, in this order, or none.",
    input: Type.Object({
      sessionId,
      path,
      edits: Type.Array(
        Type.Object({
          oldText: Type.String({ minLength: 1, description: "The text to replace, as it is in the file." }),
          newText: Type.String({ description: "The text in its place." }),
          replaceAll: Type.Optional(Type.Boolean({ default: false, description: "Replace all of its occurrences." })),
        }),
        { minItems: 1, maxItems: 100 },
      ),
    }),
    scope: "sessions",
    tokenScope: "files",
    hints: { destroys: true },
    call: (input: OnFile & { edits: Edit[] }, call) =>
      inSandbox(call, input, async (sandbox) => {
        const query = pathQuery(input.path);
        const { body, headers } = await sandbox.open("GET", "/files/content", { query });
        const tooLarge = () => new AppError("too_large", { message: `${input.path} has more than ${MAX_PATCHED_BYTES} bytes` });
        const before = await readBody(body, MAX_PATCHED_BYTES, tooLarge);
        const after = applyEdits(before, input.edits);
        // Only if no other program has changed it in the meantime.
        const ifMatch = { "if-match": String(headers.etag) };
        const written = await sandbox.read<WrittenFile>("PUT", "/files/content", WRITTEN, { query, headers: ifMatch, body: after });
        return jsonResult({ path: written.path, size: written.size, edits: input.edits.length });
      }),
  },
  {
    name: "list_files",
    title: "List files",
    description: "Returns the files and folders in a folder and, down to a depth, in the folders in it, with their sizes.",
    input: Type.Object({
      sessionId,
      path: Type.Optional({ ...path, description: "The folder. Default: the workspace folder." }),
      depth: Type.Optional(Type.Integer({ minimum: 1, maximum: 10, default: 1, description: "How many levels to list." })),
    }),
    scope: "sessions",
    tokenScope: "files",
    hints: { reads: true },
    call: (input: InSession & { path?: string; depth?: number }, call) =>
      inSandbox(call, input, async (sandbox) => {
        const query = { ...pathQuery(input.path ?? ""), depth: String(input.depth ?? 1) };
        const tree = await sandbox.read<FileTree>("GET", "/files/tree", { entries: [ENTRY] }, { query });
        const shown = tree.entries
          .slice(0, MAX_LISTED)
          .map((entry) => ({ path: entry.path.slice(0, 4096), type: entry.type, size: entry.size }));
        const isCut = tree.truncated || tree.entries.length > shown.length;
        const lines = shown.map(({ path: at, type, size }) => (type === "file" ? `${at} (${size} bytes)` : `${at} (${type})`));
        const note = isCut ? [`[only the first ${shown.length}: list a folder in it, or use search_files or find in exec]`] : [];
        return textResult([...lines, ...note].join("\n") || "[the folder is empty]", { entries: shown, isCut });
      }),
  },
  {
    name: "search_files",
    title: "Search in files",
    description:
      "Finds a text or a regular expression in the files of the workspace folder. Files that git ignores are left out. Returns the lines with their files and numbers.",
    input: Type.Object({
      sessionId,
      query: Type.String({ minLength: 1, maxLength: 1000, description: "What to search for." }),
      regex: Type.Optional(Type.Boolean({ default: false, description: "Whether query is a regular expression." })),
      caseSensitive: Type.Optional(Type.Boolean({ default: false })),
      include: Type.Optional(Type.String({ maxLength: 1000, description: "Only these files: globs with commas, such as src/**,*.ts." })),
      exclude: Type.Optional(Type.String({ maxLength: 1000, description: "Not these files." })),
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 500, default: 100, description: "The most matches to return." })),
    }),
    scope: "sessions",
    tokenScope: "files",
    hints: { reads: true },
    call: (input: InSession & SearchInput, call) =>
      inSandbox(call, input, async (sandbox) => {
        const { query: q, regex, caseSensitive, include, exclude, limit = 100 } = input;
        const flags = { ...(regex && { regex: "true" }), ...(caseSensitive && { case: "true" }) };
        const { body } = await sandbox.open("GET", "/search", {
          query: { base: undefined, q, ...flags, include, exclude, limit: String(limit) },
        });
        const matches: { path: string; line: number; text: string }[] = [];
        let isCut = true;
        let chars = 0;
        for await (const line of splitLines(body, MAX_LINE_LENGTH)) {
          const event = JSON.parse(line) as SearchEvent;
          if (event.type === "failed") throw new AppError("bad_request", { message: String(event.message).slice(0, 1000) });
          if (event.type === "done") isCut = event.truncated;
          if (event.type === "match") {
            const match = { path: String(event.path), line: Number(event.line), text: String(event.text).slice(0, MAX_MATCH_LENGTH) };
            chars += match.path.length + match.text.length;
            if (chars > MAX_CHARS || matches.length === limit) break;
            matches.push(match);
          }
          await sandbox.admitBytes(line.length);
        }
        body.destroy();
        const lines = matches.map(({ path: at, line, text }) => `${at}:${line}: ${text}`);
        const note = isCut ? [`[there are more: narrow the search with include or a longer query]`] : [];
        return textResult([...lines, ...note].join("\n") || "[no matches]", { matches, isCut });
      }),
  },
];

interface SearchInput {
  query: string;
  regex?: boolean;
  caseSensitive?: boolean;
  include?: string;
  exclude?: string;
  limit?: number;
}
