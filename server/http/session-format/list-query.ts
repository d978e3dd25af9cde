import { isSessionId, SESSION_STATUSES, type FieldFault, type SessionStatus } from "@berth/contract";
import type { ListFilter, ListPosition } from "../../sessions/sessions.ts";
import { requireNoFaults } from "../requests/field-faults.ts";
import type { SessionFormat } from "./session-view.ts";

// A parsed query string. Unknown parameters are ignored, like unknown fields in bodies; a repeated parameter is a fault.
export type Query = Record<string, string | string[] | undefined>;

// `metadata[key]`, as clients generated from the description write it, or `metadata.key`.
const METADATA = /^metadata(?:\.(?<dotted>.*)|\[(?<bracketed>.*)\])$/s;
const DEFAULT_LIMIT = 20;
const MAX_LIMIT = 100;

export function parseList(query: Query): ListFilter {
  const faults: FieldFault[] = [];
  const filter: ListFilter = { limit: parseLimit(query, faults) };
  const status = single(query, "status", faults);
  if (status !== undefined) {
    if (isStatus(status)) filter.status = status;
    else faults.push({ field: "status", message: `Must be one of ${SESSION_STATUSES.join(", ")}` });
  }
  const externalUserId = single(query, "externalUserId", faults);
  if (externalUserId !== undefined) filter.externalUserId = withoutNul(externalUserId);
  const metadata = parseMetadata(query, faults);
  if (metadata.length > 0) filter.metadata = Object.fromEntries(metadata);
  const cursor = single(query, "cursor", faults);
  if (cursor !== undefined) {
    const after = decodeCursor(cursor);
    if (after) filter.after = after;
    else faults.push({ field: "cursor", message: "Must be the nextCursor of an earlier page" });
  }
  requireNoFaults(faults);
  return filter;
}

function parseMetadata(query: Query, faults: FieldFault[]): [key: string, value: string][] {
  const found = Object.keys(query).flatMap((name) => {
    const { dotted, bracketed } = METADATA.exec(name)?.groups ?? {};
    const key = dotted ?? bracketed;
    return key === undefined ? [] : [{ name, key }];
  });
  for (const { name, key } of found)
    if (found.some((other) => other.key === key && other.name !== name)) faults.push({ field: name, message: "Must be given only once" });
  return found.map(({ name, key }) => [key, single(query, name, faults) ?? ""]);
}

export function parseExpand(query: Query): SessionFormat {
  const { expand } = query;
  if (expand === undefined) return "brief";
  if (expand !== "details") requireNoFaults([{ field: "expand", message: "Must be details" }]);
  return "detailed";
}

// Whether a create waits for the source of its session.
export function parseWait(query: Query): "source" | "sandbox" {
  const { wait } = query;
  if (wait === undefined) return "sandbox";
  if (wait !== "source") requireNoFaults([{ field: "wait", message: "Must be source" }]);
  return "source";
}

export function parseLimit(query: Query, faults: FieldFault[], fallback = DEFAULT_LIMIT): number {
  const text = single(query, "limit", faults);
  if (text === undefined) return fallback;
  const limit = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (limit < 1 || limit > MAX_LIMIT) faults.push({ field: "limit", message: `Must be a whole number from 1 to ${MAX_LIMIT}` });
  return limit;
}

export function single(query: Query, name: string, faults: FieldFault[]): string | undefined {
  const value = query[name];
  if (!Array.isArray(value)) return value;
  faults.push({ field: name, message: "Must be given only once" });
  return undefined;
}

export const encodeCursor = ({ createdAt, id }: ListPosition): string => Buffer.from(`${createdAt}.${id}`).toString("base64url");

// A page of `found`, which has one row more than `limit` if there is a next page.
export function toPage<Item extends { createdAtMs: number; id: string }, Row>(
  found: readonly Item[],
  limit: number,
  toRow: (item: Item) => Row,
) {
  const page = found.slice(0, limit);
  const last = page.at(-1);
  const nextCursor = found.length > limit && last ? encodeCursor({ createdAt: last.createdAtMs, id: last.id }) : null;
  return { data: page.map(toRow), nextCursor };
}

export function decodeCursor(cursor: string): ListPosition | null {
  const position = decodePosition(cursor);
  return position && isSessionId(position.id) ? position : null;
}

export function decodePosition(cursor: string): ListPosition | null {
  const [, time = "", id = ""] = /^(\d{1,15})\.(.+)$/.exec(Buffer.from(cursor, "base64url").toString("latin1")) ?? [];
  const position = { createdAt: Number(time), id };
  return encodeCursor(position) === cursor ? position : null;
}

const isStatus = (text: string): text is SessionStatus => (SESSION_STATUSES as readonly string[]).includes(text);

// PostgreSQL rejects text that contains NUL. No stored text contains one, so a replacement matches nothing either.
const withoutNul = (text: string): string => text.replaceAll("\0", "\uFFFD");
