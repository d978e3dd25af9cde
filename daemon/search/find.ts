import { matchLetters, startsWord } from "@berth/contract/matching/fuzzy.ts";
import { GENERATED_FOLDERS, walkFiles } from "../files/walk.ts";
import type { WorkspaceFolder } from "../files/workspace-folder.ts";
import { badRequest } from "../http/errors.ts";
import { sendJson } from "../http/reply.ts";
import type { Route } from "../http/route.ts";
import { uptimeMs } from "../io/uptime.ts";

const MAX_FILES = 50_000;
// The list is kept for ten times as long as it took to make, within these bounds, so that a new file is found soon.
const MIN_CACHE_MS = 200;
const MAX_CACHE_MS = 3000;

// Quick open: the files whose path contains the letters of the query in order, best match first.
export function findRoutes({ workspace }: { workspace: WorkspaceFolder }): Route[] {
  // Serves the keystrokes of one query; dropped soon after to release the memory.
  let cached: Promise<Collected> | null = null;

  return [
    {
      method: "GET",
      path: "/files/find",
      async handle({ query, response }) {
        const limit = parseLimit(query.get("limit"), 50, 500);
        const wanted = (query.get("q") ?? "").slice(0, 200);
        cached ??= expireSoon(collect(workspace.root));
        const { files, truncated } = await cached;
        const ranked = rank(files, wanted);
        sendJson(response, 200, { paths: ranked.slice(0, limit), truncated: truncated || ranked.length > limit });
      },
    },
  ];

  function expireSoon(collected: Promise<Collected>): Promise<Collected> {
    const startedMs = uptimeMs();
    const expire = () => {
      const cacheMs = Math.min(MAX_CACHE_MS, Math.max(MIN_CACHE_MS, 10 * (uptimeMs() - startedMs)));
      setTimeout(() => (cached = null), cacheMs).unref();
    };
    collected.then(expire, expire);
    return collected;
  }
}

interface Collected {
  files: string[];
  truncated: boolean;
}

export function parseLimit(text: string | null, fallback: number, maximum: number): number {
  if (text === null) return fallback;
  const limit = Number(text);
  if (!Number.isInteger(limit) || limit < 1) throw badRequest("limit must be a positive integer");
  return Math.min(limit, maximum);
}

async function collect(root: string): Promise<Collected> {
  const files: string[] = [];
  for await (const { path } of walkFiles(root, GENERATED_FOLDERS)) {
    if (files.length === MAX_FILES) return { files, truncated: true };
    files.push(path);
  }
  return { files, truncated: false };
}

export function rank(files: string[], query: string): string[] {
  const scored = files.flatMap((path) => {
    const score = scoreOf(path, query);
    return score === null ? [] : [{ path, score }];
  });
  scored.sort((a, b) => b.score - a.score || a.path.length - b.path.length || (a.path < b.path ? -1 : 1));
  return scored.map(({ path }) => path);
}

// Adjacent letters, letters at the start of a word and letters in the file name score higher.
function scoreOf(path: string, query: string): number | null {
  const positions = matchLetters(query, path);
  if (!positions) return null;
  const nameAt = path.lastIndexOf("/") + 1;
  const whole = path.toLowerCase().indexOf(query.toLowerCase().replaceAll(" ", ""), nameAt);
  let score = whole === -1 ? 0 : 50 + (whole === nameAt ? 30 : 0);
  let previous = -1;
  for (const position of positions) {
    score += (position === previous + 1 ? 5 : 0) + (position >= nameAt ? 2 : 0) + (startsWord(path, position) ? 4 : 0);
    previous = position;
  }
  return score;
}
