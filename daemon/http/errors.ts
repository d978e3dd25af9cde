import { readFileSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { AppError, type ErrorCode, isAppError } from "@berth/contract/errors.ts";

// Turns anything that was thrown into an error of the contract's table. Unknown errors are logged here.
export function toAppError(error: unknown, request?: IncomingMessage): AppError {
  if (isAppError(error)) return error;
  if (systemCode(error) === "EROFS" && isDiskReadOnly()) return new AppError("disk_read_only", { cause: error });
  const known = SYSTEM_ERRORS[systemCode(error) ?? ""];
  if (known) return new AppError(known[0], { message: known[1], cause: error });
  console.error(...traceOf(request), error);
  return new AppError("internal", { message: "Something went wrong in the sandbox", cause: error });
}

// A volume or a part of the image may be read-only by intention. The file system of the workspace is only if the kernel could not write
// to its disk; newer kernels have a word of their own for that.
function isDiskReadOnly(): boolean {
  try {
    const mounts = readFileSync("/proc/self/mountinfo", "utf8").split("\n");
    const mount = mounts.find((line) => line.split(" ")[4] === process.env["BERTH_WORKSPACE"]);
    return /[ ,](ro|emergency_ro)(,|$)/.test(mount?.split(" - ")[1] ?? "");
  } catch {
    return false;
  }
}

// The server's traceparent leads from this log to the server's log.
const traceOf = (request: IncomingMessage | undefined): string[] =>
  request?.headers.traceparent === undefined ? [] : [`traceparent=${String(request.headers.traceparent)}`];

export const badRequest = (message: string) => new AppError("bad_request", { message });
export const notFound = (message: string) => new AppError("not_found", { message });

// The code that Node gives to errors of the operating system, such as ENOENT.
export const systemCode = (error: unknown): string | undefined =>
  error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;

const SYSTEM_ERRORS: Record<string, [code: ErrorCode, message?: string]> = {
  ENOENT: ["not_found", "There is no such file or folder"],
  ENOTDIR: ["not_found", "A part of the path is not a folder"],
  EEXIST: ["exists"],
  ENOTEMPTY: ["exists", "The folder is not empty"],
  EISDIR: ["is_folder"],
  EINVAL: ["bad_request", "This operation is not possible with this path"],
  ENAMETOOLONG: ["bad_request", "The name is too long"],
  ELOOP: ["path_outside"],
  EACCES: ["forbidden", "The file permissions do not allow this"],
  EPERM: ["forbidden", "The file permissions do not allow this"],
  EROFS: ["forbidden", "The file system is read-only"],
  ENOSPC: ["disk_full"],
  EDQUOT: ["disk_full"],
  EIO: ["disk_read_only"],
  E2BIG: ["too_large", "The command and its environment are too long"],
  EMFILE: ["busy", "Too many files are open in the sandbox"],
  EAGAIN: ["busy", "The sandbox has reached its limit of processes"],
  // The caller disconnected, so it does not read this reply.
  ECONNRESET: ["aborted"],
  ERR_STREAM_PREMATURE_CLOSE: ["aborted"],
};
