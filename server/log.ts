import { pino, type DestinationStream } from "pino";
import { openLossyOutput } from "./bounded-io/lossy-output.ts";

// Structured logging: one event per finished operation, with a stable name, and ids and numbers as fields.
export interface Log {
  debug(event: string, fields?: object): void;
  info(event: string, fields?: object): void;
  warn(event: string, fields?: object): void;
  error(event: string, fields?: object): void;
  child(fields: object): Log;
  // Whether lines of this level are written. If not, frequent lines need not be composed.
  writes(level: "debug" | "info"): boolean;
}

export type LogLevel = "debug" | "info" | "warn" | "error" | "silent";

// A safety net: callers choose their fields, and these are masked even if logged by mistake. pino's own redaction copies every
// line and takes three times as long as the rest of it.
const SECRETS = new Set(["authorization", "cookie", "sig", "apiKey", "key", "envVars", "env", "token", "secret", "password"]);
const MASK = "[redacted]";

export function createLog(level: LogLevel, destination: Output = openLossyOutput(process.stderr)): Log {
  const log = wrap(pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, destination), () => destination.flush?.());
  destination.onRecovery = (lines) => log.warn("log.lines_dropped", { lines });
  return log;
}

export interface Output extends DestinationStream {
  // Writes lines that are still buffered. Warnings and errors are written at once.
  flush?(): void;
  // Called when lines can be written again, with the number of lines that were dropped in the meantime.
  onRecovery?: (lines: number) => void;
}

export const silentLog: Log = { debug() {}, info() {}, warn() {}, error() {}, child: () => silentLog, writes: () => false };

function wrap(logger: pino.Logger, flush: () => void): Log {
  const write = (level: "debug" | "info" | "warn" | "error") =>
    logger.isLevelEnabled(level) ? (event: string, fields: object = {}) => logger[level](mask(fields), event) : silentLog[level];
  const writeNow = (level: "warn" | "error") => (event: string, fields?: object) => {
    write(level)(event, fields);
    flush();
  };
  return {
    debug: write("debug"),
    info: write("info"),
    warn: writeNow("warn"),
    error: writeNow("error"),
    child: (fields) => wrap(logger.child(mask(fields)), flush),
    writes: (level) => logger.isLevelEnabled(level),
  };
}

// Masks fields and the fields of objects in them. Copies only what it changes.
function mask(fields: object): object {
  return maskWith(fields, (value) => (isPlain(value) ? maskWith(value, (inner) => inner) : value));
}

function maskWith(fields: object, maskValue: (value: unknown) => unknown): object {
  let masked: Record<string, unknown> | undefined;
  for (const [name, value] of Object.entries(fields) as [string, unknown][]) {
    const shown = SECRETS.has(name) && value !== undefined ? MASK : typeof value === "string" ? maskText(value) : maskValue(value);
    if (shown !== value) (masked ??= { ...fields })[name] = shown;
  }
  return masked ?? fields;
}

// Keys and tokens of ours in a text, such as the message of an error. The first check is cheap, and most texts have none.
const maskText = (text: string): string => (text.includes("berth_") ? text.replaceAll(CREDENTIAL, MASK) : text);
const CREDENTIAL = /\bberth_(?:(?:op_)?[0-9a-f]{64}|st_[0-9a-z]{26}_[\w-]{43})/g;

const isPlain = (value: unknown): value is object => typeof value === "object" && value !== null && !Array.isArray(value);
