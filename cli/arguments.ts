import { InvalidArgumentError } from "commander";
import { DAY } from "@berth/server/clock.ts";
import { duration, origin, wholeNumber, type Kind } from "@berth/server/config/kinds.ts";

export const parseDuration = argument(duration(0, 3650 * DAY));
export const parseCount = argument(wholeNumber(1, 10_000));

// A limit, or `none`. Not null, which commander treats as an option that is not set.
export type Limit = number | "none";

export function parseLimit(text: string): Limit {
  return text === "none" ? text : argument({ ...wholeNumber(0, 1_000_000), allowed: "a whole number up to 1000000, or none" })(text);
}

// May be repeated. `none` is an empty list.
export function parseOrigins(text: string, earlier: string[] = []): string[] {
  return text === "none" ? [] : [...earlier, argument(origin)(text)];
}

export function parsePartnerId(text: string): string {
  if (/^[a-z0-9][a-z0-9_-]{0,62}$/.test(text)) return text;
  throw new InvalidArgumentError("Allowed: up to 63 lowercase letters, digits, - and _, starting with a letter or digit.");
}

// Checks an argument like a setting of the configuration, so that both are refused with the same message.
function argument<T>(kind: Kind<T>): (text: string) => T {
  return (text) => {
    const value = kind.parse(text);
    if (value === undefined) throw new InvalidArgumentError(`Allowed: ${kind.allowed}.`);
    return value;
  };
}
