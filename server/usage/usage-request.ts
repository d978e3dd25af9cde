import { MAX_USAGE_DAYS, USAGE_GROUPS, type UsageGroup } from "@berth/contract";
import { DAY } from "../clock.ts";
import { dayOf, nextDay } from "../store/usage/days.ts";

// The request for a report, as the API and the command line accept it.
export interface UsageRequest {
  // The first day, and the first one after the last, each by its first millisecond in UTC.
  fromDay: number;
  toDay: number;
  groups: readonly UsageGroup[];
}

const DEFAULT_DAYS = 30;

export const GROUPS_ALLOWED = `one or more of ${USAGE_GROUPS.join(", ")}, separated by commas, each once`;
export const DAY_ALLOWED = "a day, such as 2030-01-31";

// The default is the last 30 days, today included.
export function daysOf({ fromDay, toDay }: { fromDay?: number | undefined; toDay?: number | undefined }, nowMs: number) {
  const end = toDay ?? nextDay(dayOf(nowMs));
  return { fromDay: fromDay ?? end - DEFAULT_DAYS * DAY, toDay: end };
}

// Completes the sentence "from must be …".
export function findDaysFault({ fromDay, toDay }: Pick<UsageRequest, "fromDay" | "toDay">): string | undefined {
  if (fromDay >= toDay) return "before to";
  return toDay - fromDay > MAX_USAGE_DAYS * DAY ? `at most ${MAX_USAGE_DAYS} days before to` : undefined;
}

// undefined: the text is invalid.
export function parseDay(text: string): number | undefined {
  const day = /^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(text) : NaN;
  // Date.parse accepts the 31st of every month.
  return !Number.isNaN(day) && new Date(day).toISOString().startsWith(text) ? day : undefined;
}

// undefined: the text is invalid.
export function parseGroups(text: string): UsageGroup[] | undefined {
  const parts = text.split(",").map((part) => part.trim());
  const groups = parts.filter(isGroup);
  return groups.length === parts.length && new Set(groups).size === groups.length ? groups : undefined;
}

const isGroup = (text: string): text is UsageGroup => (USAGE_GROUPS as readonly string[]).includes(text);
