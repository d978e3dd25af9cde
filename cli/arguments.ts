import { InvalidArgumentError } from "commander";
import { VOLUME_SIZE_MB } from "@berth/contract";
import { DAY } from "@berth/server/clock.ts";
import { duration, origin, wholeNumber, type Kind } from "@berth/server/config/kinds.ts";
import { idleTimeout, limit, maxTimeout, PARTNER_ID } from "@berth/server/keys/partner-fields.ts";

const anyDuration = duration(0, 3650 * DAY);

// A person who types `--expires 90` may mean days, so the unit is required.
export function parseDuration(text: string): number {
  requireUnit(text);
  return argument({ ...anyDuration, allowed: "a duration up to 3650d, such as 90s, 5m, 2h or 1d" })(text);
}

// The lifetime of a key in milliseconds, or `none`.
export const parseExpiry = (text: string): Limit => (text === "none" ? text : parseDuration(text));

export const parseCount = argument(wholeNumber(1, 10_000));

export const parseTokens = argument(wholeNumber(1, 1e12));

export const parseVolumeSize = argument(wholeNumber(VOLUME_SIZE_MB.minimum, VOLUME_SIZE_MB.maximum));

// A limit, or `none`. Not null, which commander treats as an option that is not set.
export type Limit = number | "none";

export function parseLimit(text: string): Limit {
  return text === "none" ? text : argument(orNone(limit))(text);
}

// The idle timeout of sessions in milliseconds, or `none`.
export function parseIdleTimeout(text: string): Limit {
  if (text === "none") return text;
  requireUnit(text);
  return argument(orNone(idleTimeout))(text);
}

// How long people may keep a session running, in milliseconds, or `none`.
export function parseMaxTimeout(text: string): Limit {
  if (text === "none") return text;
  requireUnit(text);
  return argument(orNone(maxTimeout))(text);
}

// May be repeated. `none` is an empty list.
export function parseOrigins(text: string, earlier: string[] = []): string[] {
  return text === "none" ? [] : [...earlier, argument(origin)(text)];
}

export function parsePartnerId(text: string): string {
  if (PARTNER_ID.test(text)) return text;
  throw new InvalidArgumentError("Allowed: up to 63 lowercase letters, digits, - and _, starting with a letter or digit.");
}

const orNone = <T>(kind: Kind<T>): Kind<T> => ({ ...kind, allowed: `${kind.allowed}, or none` });

function requireUnit(text: string): void {
  if (/^\d+$/.test(text)) throw new InvalidArgumentError(`Add the unit to ${text}, such as ${text}d for days; s, m and h work too.`);
}

// Checks an argument like a setting of the configuration, so that both are refused with the same message.
function argument<T>(kind: Kind<T>): (text: string) => T {
  return (text) => {
    const value = kind.parse(text);
    if (value === undefined) throw new InvalidArgumentError(`Allowed: ${kind.allowed}.`);
    return value;
  };
}
