// The search for sandboxes without ripgrep. search.ts runs it as a separate process with the request as its argument. It
// writes one match per line.
import { matchesGlob } from "node:path";
import { GENERATED_FOLDERS, walkFiles } from "../files/walk.ts";
import { readSmallFile } from "../io/small-file.ts";
import { matchAt, type SearchRequest } from "./search.ts";

const MAX_FILE_BYTES = 5 * 1024 * 1024;

void search(JSON.parse(process.argv[2] ?? "{}") as SearchRequest);

async function search(request: SearchRequest): Promise<void> {
  const pattern = patternOf(request);
  if (request.file !== null) return searchFile(request.file, request.file, pattern, request.linesPerFile);
  for await (const { path, at } of walkFiles(process.cwd(), GENERATED_FOLDERS)) {
    if (isWanted(path, request)) await searchFile(path, at, pattern, request.linesPerFile);
  }
}

async function searchFile(path: string, at: string, pattern: RegExp, maxLines: number): Promise<void> {
  const text = await readText(at);
  if (text === null) return;
  let lines = 0;
  for (const [index, line] of text.split("\n").entries()) {
    const matches = [...line.matchAll(pattern)].filter(([found]) => found !== "");
    for (const match of matches) process.stdout.write(`${JSON.stringify(matchAt(path, index + 1, line, match.index, match[0].length))}\n`);
    if (matches.length > 0 && ++lines >= maxLines) return;
  }
}

function patternOf({ query, regex, caseSensitive, word }: SearchRequest): RegExp {
  const source = regex ? query : query.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
  return new RegExp(word ? `\\b(?:${source})\\b` : source, caseSensitive ? "g" : "gi");
}

function isWanted(path: string, { include, exclude }: SearchRequest): boolean {
  const fits = (glob: string) =>
    matchesGlob(path, glob.includes("/") ? glob.replace(/^\//, "") : `**/${glob}`) || matchesGlob(path, `${glob}/**`);
  return (include.length === 0 || include.some(fits)) && !exclude.some(fits);
}

async function readText(at: string): Promise<string | null> {
  try {
    const bytes = await readSmallFile(at, MAX_FILE_BYTES);
    if (typeof bytes === "string") return null;
    const isBinary = bytes.subarray(0, 8192).includes(0);
    return isBinary ? null : bytes.toString();
  } catch {
    return null;
  }
}
