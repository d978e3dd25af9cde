import { badRequest, type Route, sendJson } from "../http/http.ts";
import { MACHINE_FOLDERS, walkFiles } from "../files/walk.ts";
import type { Workspace } from "../files/workspace.ts";

const MAX_FILES = 50_000;
const FRESH_MS = 3000;

// Quick open: the files whose path holds the letters of the query in order, best first.
export function findRoutes({ workspace }: { workspace: Workspace }): Route[] {
  // For the letters that follow each other; then the memory is given back.
  let cached: Promise<Collected> | null = null;

  return [
    {
      method: "GET",
      path: "/files/find",
      async handle({ query, response }) {
        const limit = parseLimit(query.get("limit"), 50, 500);
        const wanted = (query.get("q") ?? "").slice(0, 200);
        cached ??= remember(collect(workspace.root));
        const { files, truncated } = await cached;
        const ranked = rank(files, wanted);
        sendJson(response, 200, { paths: ranked.slice(0, limit), truncated: truncated || ranked.length > limit });
      },
    },
  ];

  function remember(collected: Promise<Collected>): Promise<Collected> {
    setTimeout(() => (cached = null), FRESH_MS).unref();
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
  if (!Number.isInteger(limit) || limit < 1) throw badRequest("limit must be a whole number above 0");
  return Math.min(limit, maximum);
}

async function collect(root: string): Promise<Collected> {
  const files: string[] = [];
  for await (const { path } of walkFiles(root, MACHINE_FOLDERS)) {
    if (files.length === MAX_FILES) return { files, truncated: true };
    files.push(path);
  }
  return { files, truncated: false };
}

export function rank(files: string[], query: string): string[] {
  const wanted = query.toLowerCase().replaceAll(" ", "");
  const scored = files.flatMap((path) => {
    const score = scoreOf(path, wanted);
    return score === null ? [] : [{ path, score }];
  });
  scored.sort((a, b) => b.score - a.score || a.path.length - b.path.length || (a.path < b.path ? -1 : 1));
  return scored.map(({ path }) => path);
}

// Letters in a row, at the start of a word and in the file's own name count more.
function scoreOf(path: string, wanted: string): number | null {
  const text = path.toLowerCase();
  const nameAt = text.lastIndexOf("/") + 1;
  const whole = text.indexOf(wanted, nameAt);
  let score = whole === -1 ? 0 : 50 + (whole === nameAt ? 30 : 0);
  let at = -1;
  for (const letter of wanted) {
    const next = text.indexOf(letter, at + 1);
    if (next === -1) return null;
    score += (next === at + 1 ? 5 : 0) + (next >= nameAt ? 2 : 0) + (next === 0 || "/._- ".includes(text[next - 1] ?? "") ? 4 : 0);
    at = next;
  }
  return score;
}
