import { pino, type DestinationStream } from "pino";

// Structured logging: one event per finished operation, with a stable name, and ids and numbers as fields.
export interface Log {
  debug(event: string, fields?: object): void;
  info(event: string, fields?: object): void;
  warn(event: string, fields?: object): void;
  error(event: string, fields?: object): void;
  child(fields: object): Log;
}

export type LogLevel = "debug" | "info" | "warn" | "error" | "silent";

// A safety net: callers choose their fields, and these are masked even if logged by mistake.
const SECRETS = ["authorization", "cookie", "sig", "apiKey", "key", "envVars", "env", "token", "secret", "password"];

export function createLog(level: LogLevel, destination?: DestinationStream): Log {
  const redact = { paths: SECRETS.flatMap((name) => [name, `*.${name}`]), censor: "[redacted]" };
  return wrap(pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime, redact }, destination ?? pino.destination(2)));
}

export const silentLog: Log = { debug() {}, info() {}, warn() {}, error() {}, child: () => silentLog };

function wrap(logger: pino.Logger): Log {
  return {
    debug: (event, fields) => logger.debug(fields ?? {}, event),
    info: (event, fields) => logger.info(fields ?? {}, event),
    warn: (event, fields) => logger.warn(fields ?? {}, event),
    error: (event, fields) => logger.error(fields ?? {}, event),
    child: (fields) => wrap(logger.child(fields)),
  };
}
