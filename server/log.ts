import { pino, type DestinationStream } from "pino";

// One event per finished piece of work: a stable name, then ids and numbers as fields.
export interface Log {
  debug(event: string, fields?: object): void;
  info(event: string, fields?: object): void;
  warn(event: string, fields?: object): void;
  error(event: string, fields?: object): void;
  child(fields: object): Log;
}

export type LogLevel = "debug" | "info" | "warn" | "error" | "silent";

// The last line of defence: whoever logs picks fields by hand, and these never leave even by mistake.
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
