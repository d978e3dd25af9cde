import { AppError, type SessionStatus } from "@berth/contract";
import { decodeCursor, encodeCursor } from "../../../http/session-format/list-query.ts";
import type { ListFilter } from "../../../sessions/sessions.ts";

type Query = Record<string, string | string[] | undefined>;

const MAX_LIMIT = 100;

// E2B's filters of the list of sandboxes.
export function parseList(query: Query): ListFilter {
  const { metadata, order, template } = query;
  const startedAfterMs = time(query["startedAfter"]);
  const after = cursor(query["nextToken"]);
  return {
    status: statuses(query["state"]),
    limit: limit(query["limit"]),
    ...(typeof metadata === "string" && { metadata: pairs(metadata) }),
    ...(order === "asc" && { order }),
    ...(typeof template === "string" && { template: template === "base" ? "default" : template }),
    ...(startedAfterMs !== undefined && { createdFromMs: startedAfterMs }),
    ...(after && { after }),
  };
}

export function limit(text: string | string[] | undefined): number {
  if (text === undefined) return MAX_LIMIT;
  const number = Number(text);
  if (!Number.isInteger(number) || number < 1) throw invalid("limit must be a positive number");
  return Math.min(number, MAX_LIMIT);
}

export { encodeCursor };

function cursor(text: string | string[] | undefined): ListFilter["after"] {
  if (text === undefined || text === "") return undefined;
  const position = decodeCursor(String(text));
  if (!position) throw invalid("nextToken is not one of this list");
  return position;
}

// `state=running&state=paused` or `state=running,paused`. Without it, both.
function statuses(state: string | string[] | undefined): SessionStatus[] {
  if (state === undefined) return ["running", "paused"];
  const wanted = [state].flat().flatMap((one) => one.split(","));
  const unknown = wanted.find((one) => one !== "running" && one !== "paused");
  if (unknown !== undefined) throw invalid(`${unknown} is no state of a sandbox`);
  return wanted as SessionStatus[];
}

// A query in the query, whose names and values are encoded once more.
function pairs(text: string): Record<string, string> {
  try {
    return Object.fromEntries([...new URLSearchParams(text)].map((pair) => pair.map(decodeURIComponent) as [string, string]));
  } catch {
    throw invalid("metadata is not encoded correctly");
  }
}

function time(text: string | string[] | undefined): number | undefined {
  if (text === undefined) return undefined;
  const ms = Date.parse(String(text));
  if (Number.isNaN(ms)) throw invalid("startedAfter is no time");
  return ms;
}

const invalid = (message: string) => new AppError("bad_request", { message });
