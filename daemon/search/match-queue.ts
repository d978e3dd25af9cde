import type { SearchEvent } from "@berth/contract/daemon.ts";

type Match = Extract<SearchEvent, { type: "match" }>;

export interface MatchQueue {
  // The events to send for this match.
  accept(match: Match): SearchEvent[];
  // The events to send at the end.
  finish(): SearchEvent[];
  // Whether no further match can be sent.
  isFull(): boolean;
  totals(): { matches: number; files: number; truncated: boolean };
}

// Keeps one file from using up the limit of all: of each file only the first matches are sent, and the matches in data and
// generated files follow those in all others.
export function createMatchQueue({ limit, fileLimit }: { limit: number; fileLimit: number }): MatchQueue {
  const countByPath = new Map<string, number>();
  const sentPaths = new Set<string>();
  const held: SearchEvent[] = [];
  let sent = 0;
  let truncated = false;

  function send(event: SearchEvent): SearchEvent[] {
    if (event.type !== "match") return [event];
    if (sent === limit) {
      truncated = true;
      return [];
    }
    sent++;
    sentPaths.add(event.path);
    return [event];
  }

  return {
    accept(match) {
      const count = (countByPath.get(match.path) ?? 0) + 1;
      countByPath.set(match.path, count);
      if (count > fileLimit + 1) return [];
      const event: SearchEvent = count > fileLimit ? { type: "more", path: match.path } : match;
      if (!isData(match.path)) return send(event);
      if (held.length < 2 * limit) held.push(event);
      return [];
    },
    finish: () => held.flatMap(send).filter((event) => event.type !== "more" || sentPaths.has(event.path)),
    isFull: () => truncated,
    totals: () => ({ matches: sent, files: sentPaths.size, truncated }),
  };
}

const DATA =
  /\.(csv|tsv|json|jsonl|ndjson|geojson|log|lock|map|svg|xml|ipynb|sql|snap)$|\.min\.(js|css)$|(^|\/)(dist|build|coverage|vendor)\//i;
const SETTINGS = /(^|\/)(package|composer|tsconfig[^/]*|jsconfig|\.[^/]+|[^/]*config)\.json$/i;

const isData = (path: string) => DATA.test(path) && !SETTINGS.test(path);
