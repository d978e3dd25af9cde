import ipaddr from "ipaddr.js";
import { DAY, HOUR, MINUTE, SECOND } from "../clock.ts";
import { splitPort } from "../egress-hosts.ts";

// The type of a variable's value.
export interface Kind<T> {
  // Completes the sentence "allowed: …" of an error message.
  allowed: string;
  // undefined: the value is invalid.
  parse(text: string): T | undefined;
  // Formats a value where String() would not.
  show?(value: T): string;
}

export const anyText: Kind<string> = { allowed: "any text", parse: (text) => text };

export const flag: Kind<boolean> = {
  allowed: "1, true, yes, on, or 0, false, no, off",
  parse: (text) =>
    ["1", "true", "yes", "on"].includes(text.toLowerCase())
      ? true
      : ["0", "false", "no", "off"].includes(text.toLowerCase())
        ? false
        : undefined,
};

export const oneOf = <const T extends string>(...values: T[]): Kind<T> => ({
  allowed: `one of ${values.join(", ")}`,
  parse: (text) => values.find((value) => value === text),
});

export const wholeNumber = (minimum: number, maximum: number): Kind<number> => ({
  allowed: `a whole number from ${minimum} to ${maximum}`,
  parse: (text) => (/^\d{1,15}$/.test(text) ? within(Number(text), minimum, maximum) : undefined),
});

export const price: Kind<number> = {
  allowed: "a number from 0 to 1000000, such as 0.05",
  parse: (text) => (/^\d{1,7}(\.\d{1,9})?$/.test(text) ? within(Number(text), 0, 1_000_000) : undefined),
};

// How many days something is kept, stored as milliseconds. May be a fraction: 0.5 is twelve hours. Zero is refused, because some
// operators mean "forever" by it and others "not at all".
export const days = (maximum: number): Kind<number> => ({
  allowed: `a number of days from ${MIN_DAYS} to ${maximum}, where 0.5 is twelve hours and 0 is refused`,
  parse: (text) => (/^\d{1,6}(\.\d{1,6})?$/.test(text) ? within(Number(text) * DAY, MIN_DAYS * DAY, maximum * DAY) : undefined),
  show: (ms) => String(ms / DAY),
});

const MIN_DAYS = 0.01;

const UNITS = { ms: 1, s: SECOND, m: MINUTE, h: HOUR, d: DAY };

// A duration with its unit, stored as milliseconds.
export const duration = (minimumMs: number, maximumMs: number): Kind<number> => ({
  allowed: `a duration from ${describeMs(minimumMs)} to ${describeMs(maximumMs)}, such as 90s, 5m, 2h or 1d (a number without a unit is in seconds)`,
  parse(text) {
    const match = /^(\d{1,12}(?:\.\d{1,6})?)(ms|s|m|h|d)?$/.exec(text);
    return match ? within(Math.round(Number(match[1]) * UNITS[(match[2] ?? "s") as keyof typeof UNITS]), minimumMs, maximumMs) : undefined;
  },
  show: describeMs,
});

// Scheme, host and port, to which a path can be appended.
export const origin: Kind<string> = {
  allowed: "an http:// or https:// address without a path, such as https://berth.example.com",
  parse(text) {
    const url = parseUrl(text, ["http:", "https:"]);
    const bare = url && url.pathname === "/" && !url.search && !url.hash && !url.username && !url.password;
    return bare ? url.origin : undefined;
  },
};

export const httpUrl: Kind<string> = {
  allowed: "an http:// or https:// address",
  parse: (text) => parseUrl(text, ["http:", "https:"])?.href.replace(/\/$/, ""),
};

export const postgresUrl: Kind<string> = {
  allowed: "a PostgreSQL URL, such as postgres://user:password@host:5432/berth",
  parse: (text) => (parseUrl(text, ["postgres:", "postgresql:"]) ? text : undefined),
};

// A collector may take its key in the path or the query, so only the origin is shown.
export const collectorUrl: Kind<string> = {
  allowed: "an http:// or https:// address without a user name, such as http://localhost:4318",
  parse(text) {
    const url = parseUrl(text, ["http:", "https:"]);
    return url && !url.hash && !url.username && !url.password ? url.href.replace(/\/$/, "") : undefined;
  },
  show: (url) => new URL(url).origin,
};

export const ratio: Kind<number> = {
  allowed: "a number from 0 to 1",
  parse: (text) => (/^\d(\.\d{1,9})?$/.test(text) ? within(Number(text), 0, 1) : undefined),
};

// The lists of OpenTelemetry: name=value, separated by commas, with percent-encoded values.
export const assignments: Kind<Readonly<Record<string, string>>> = {
  allowed: "a list of name=value separated by commas, with percent-encoded values",
  parse: (text) => parseAssignments(text),
  show: (values) => Object.keys(values).join(","),
};

export const headerAssignments: Kind<Readonly<Record<string, string>>> = {
  ...assignments,
  parse(text) {
    const values = parseAssignments(text);
    const areHeaders = values && Object.entries(values).every(([name, value]) => /^[\w-]+$/.test(name) && /^[\x20-\x7e]*$/.test(value));
    return areHeaders ? values : undefined;
  },
};

function parseAssignments(text: string): Record<string, string> | undefined {
  try {
    const pairs = text.split(",").map((pair) => /^\s*([^=\s]+)\s*=(.*)$/.exec(pair));
    if (pairs.includes(null)) return undefined;
    return Object.fromEntries(pairs.map((pair) => [decodeURIComponent(pair![1]!), decodeURIComponent(pair![2]!.trim())]));
  } catch {
    // A percent sign that encodes nothing.
    return undefined;
  }
}

const LABEL = "[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?";
export const domain: Kind<string> = {
  allowed: "a domain name with an optional port, such as preview.example.net or localhost:8080",
  parse: (text) => (new RegExp(`^${LABEL}(\\.${LABEL})*(:\\d{1,5})?$`).test(text.toLowerCase()) ? text.toLowerCase() : undefined),
};

export const network: Kind<string> = {
  allowed: "an address or a network such as 10.1.0.0/16",
  parse: (text) => (ipaddr.isValid(text) || ipaddr.isValidCIDR(text) ? text : undefined),
};

// An entry of BERTH_EGRESS_ALLOW.
export const destination: Kind<string> = {
  allowed: "a host name, an address or a network such as 10.1.0.0/16, with an optional :port",
  parse(text) {
    const { name, port = 0 } = splitPort(text);
    const isKnown = network.parse(name) !== undefined || new RegExp(`^${LABEL}(\\.${LABEL})*$`, "i").test(name);
    return isKnown && port <= 65_535 ? text : undefined;
  },
};

export const list = <T>(item: Kind<T>): Kind<T[]> => ({
  allowed: `a list separated by commas, each item ${item.allowed}`,
  parse(text) {
    const items = text
      .split(",")
      .map((part) => part.trim())
      .filter((part) => part !== "")
      .map((part) => item.parse(part));
    return items.length > 0 && items.every((value) => value !== undefined) ? items : undefined;
  },
});

export const matching = (pattern: RegExp, allowed: string): Kind<string> => ({
  allowed,
  parse: (text) => (pattern.test(text) ? text : undefined),
});

export const secretKey: Kind<Buffer> = {
  allowed: "32 bytes as 64 hexadecimal characters (openssl rand -hex 32)",
  parse: (text) => (/^[0-9a-f]{64}$/i.test(text) ? Buffer.from(text, "hex") : undefined),
};

export function describeMs(ms: number): string {
  const unit = (["d", "h", "m", "s"] as const).find((name) => ms >= UNITS[name] && ms % UNITS[name] === 0);
  if (unit) return `${ms / UNITS[unit]}${unit}`;
  return ms === 0 ? "0" : `${ms}ms`;
}

const within = (value: number, minimum: number, maximum: number) => (value >= minimum && value <= maximum ? value : undefined);

function parseUrl(text: string, protocols: string[]): URL | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  return url && protocols.includes(url.protocol) && url.hostname !== "" ? url : undefined;
}
