import { AppError } from "@berth/contract";

// For an image that the engine cannot fetch. People read which of the usual causes it is; the engine's own words, with addresses of the
// operator's network, are for the log.
export function imageNotFetched(engineMessage: string): AppError {
  const cause = CAUSES.find(([pattern]) => pattern.test(engineMessage))?.[1];
  const message = cause === undefined ? "The image could not be fetched" : `The image could not be fetched: ${cause}`;
  return new AppError("sandbox_failed", { message, cause: new Error(engineMessage) });
}

const CAUSES: [RegExp, string][] = [
  [/no matching manifest|no match for platform/i, "it does not exist for this kind of processor"],
  [/no space left/i, "the disk is full"],
  [/InvalidImageName|invalid reference/i, "its name is not valid"],
  [/digest did not match|digest mismatch|unexpected eof|malformed|size mismatch|does not match/i, "it is damaged"],
  [/file too large|file size limit/i, "it is too large"],
  [/no such host|connection refused|timeout|timed out|deadline exceeded|unreachable|reset by peer/i, "its registry does not answer"],
  [/denied|unauthorized|forbidden|not found|manifest unknown/i, "its registry does not have it, or does not give it to this server"],
];
