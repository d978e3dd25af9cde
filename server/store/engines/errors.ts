import { AppError } from "@berth/contract";

// Maps database failures to our errors. A failure that a retry may solve becomes `store_unavailable` or `server_disk_full`; anything else is a bug
// and is passed on unchanged.

// SQLite's primary result codes: BUSY, LOCKED, READONLY, IOERR, CORRUPT, CANTOPEN, PROTOCOL, NOTADB.
const SQLITE_UNAVAILABLE = new Set([5, 6, 8, 10, 11, 14, 15, 26]);
const SQLITE_FULL = 13;

export function sqliteFailure(error: unknown): unknown {
  const { errcode: code, code: systemCode } = error as { errcode?: number; code?: string };
  const fileSystem = (error as { syscall?: string }).syscall !== undefined;
  if (systemCode === "ENOSPC" || (code !== undefined && (code & 0xff) === SQLITE_FULL))
    return new AppError("server_disk_full", { cause: error });
  return fileSystem || (code !== undefined && SQLITE_UNAVAILABLE.has(code & 0xff)) ? unavailable(error) : error;
}

// PostgreSQL's error classes: connection exception, insufficient resources, operator intervention (shutdown, timeout), system
// error; and 40: a deadlock or a serialization failure, which a retry solves.
const POSTGRES_UNAVAILABLE = /^(08|53|57|58|40)/;

export function postgresFailure(error: unknown): unknown {
  const { code, message } = error as { code?: string; message?: string };
  // The driver's own failures have an operating system code (ECONNREFUSED) or only a message.
  const broken =
    code === undefined
      ? /terminat|timeout|not queryable|ended/i.test(message ?? "")
      : /^E[A-Z_]+$/.test(code) || POSTGRES_UNAVAILABLE.test(code);
  return broken ? unavailable(error) : error;
}

// Whether an insert failed because the row exists already.
export function isDuplicate(error: unknown): boolean {
  const { errcode, code } = error as { errcode?: number; code?: string };
  return code === "23505" || errcode === 1555 || errcode === 2067;
}

const unavailable = (cause: unknown) => new AppError("store_unavailable", { cause });
