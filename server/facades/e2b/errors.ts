import { AppError, isAppError, type ErrorCode } from "@berth/contract";

// Errors in the shape of E2B's API.
export interface E2bError {
  code: number;
  message: string;
}

// E2B's SDK chooses the class of an error by its status.
const STATUSES: Partial<Record<ErrorCode, number>> = {
  session_quota: 429,
  disk_full: 507,
  is_folder: 400,
  not_a_file: 400,
  path_outside: 400,
};

// Errors other than AppErrors become `internal`, so that no internals reach the caller.
export function toE2bError(thrown: unknown): E2bError {
  const error = isAppError(thrown) ? thrown : new AppError("internal");
  const details = error.details?.map(({ field, message }) => `${field}: ${message}`).join("; ");
  return { code: STATUSES[error.code] ?? error.status, message: details ? `${error.message}: ${details}` : error.message };
}

export const unsupported = (what: string) =>
  new AppError("not_supported", { message: `${what} is not supported by Berth; see docs/e2b.md` });
