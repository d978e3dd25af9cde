import { IDLE_TIMEOUT_RANGE, MAX_TIMEOUT_RANGE, TIMEOUT_ACTIONS } from "@berth/contract";
import { duration, matching, oneOf, origin, wholeNumber, type Kind } from "../config/kinds.ts";

export type { Kind } from "../config/kinds.ts";

// How the settings of a partner are written, at the command line and in the forms of the console. Both refuse the same values.

// Ids are part of launch URLs and log lines, so they are short and plain.
export const PARTNER_ID = /^[a-z0-9][a-z0-9_-]{0,62}$/;

export const limit: Kind<number> = { ...wholeNumber(0, 1_000_000), allowed: "a whole number up to 1000000" };

export const idleTimeout: Kind<number> = {
  ...withUnit(duration(IDLE_TIMEOUT_RANGE.minimum, IDLE_TIMEOUT_RANGE.maximum)),
  allowed: "a duration from 2m to 24h, such as 30m",
};

export const maxTimeout: Kind<number> = {
  ...withUnit(duration(MAX_TIMEOUT_RANGE.minimum, MAX_TIMEOUT_RANGE.maximum)),
  allowed: "a duration from 1m to 7d, such as 8h",
};

export const fullName = matching(/^[^\p{Cc}]{1,100}$/u, "1 to 100 characters");
export const partnerState = oneOf("active", "suspended");
export const yesOrNo = oneOf("yes", "no");
export const timeoutAction = oneOf(...TIMEOUT_ACTIONS);
export const accent = matching(/^#[0-9a-f]{6}$/i, "a colour such as #7c3aed");

export const LOGO_TYPES = { svg: "image/svg+xml", png: "image/png", webp: "image/webp", jpg: "image/jpeg" };
// Every page of the partner's workspaces contains the logo.
export const MAX_LOGO_BYTES = 16 * 1024;

// A data: URL.
export const logo: Kind<string> = {
  allowed: "an .svg, .png, .webp or .jpg file of at most 16 KiB",
  parse(text) {
    const [, type = "", base64 = ""] = /^data:([\w/+]+);base64,([A-Za-z0-9+/]+={0,2})$/.exec(text) ?? [];
    const isImage = Object.values(LOGO_TYPES).includes(type);
    return isImage && Buffer.byteLength(base64, "base64") <= MAX_LOGO_BYTES ? text : undefined;
  },
};

const MAX_ORIGINS = 50;

// One on each line.
export const origins: Kind<string[]> = {
  allowed: `up to ${MAX_ORIGINS} addresses without a path, one on each line, such as https://app.example.com`,
  parse(text) {
    const lines = text.split(/\s+/).filter((line) => line !== "");
    const parsed = lines.flatMap((line) => origin.parse(line) ?? []);
    return parsed.length === lines.length && parsed.length <= MAX_ORIGINS ? [...new Set(parsed)] : undefined;
  },
};

// A person who types 90 may mean seconds or minutes.
function withUnit(kind: Kind<number>): Kind<number> {
  return { ...kind, parse: (text) => (/^\d+$/.test(text) ? undefined : kind.parse(text)) };
}
