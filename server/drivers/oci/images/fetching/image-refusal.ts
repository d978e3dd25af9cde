import { AppError, isAppError } from "@berth/contract";

// The reason why an image is not used, as the end of a sentence.
export class ImageRefusal extends Error {
  readonly reason: string;
  constructor(reason: string, options?: ErrorOptions) {
    super(`The image is refused: ${reason}`, options);
    this.reason = reason;
  }
}

// The error for callers.
export function describeFailure(error: unknown): AppError {
  if (isAppError(error)) return error;
  const reason = error instanceof ImageRefusal ? error.reason : reasonOfUnpack(String(error));
  return new AppError("sandbox_failed", { message: `The image could not be used: ${reason}`, cause: error });
}

const reasonOfUnpack = (message: string): string => REASONS.find(([pattern]) => pattern.test(message))?.[1] ?? "it could not be unpacked";

const REASONS: [RegExp, string][] = [
  [/no space left|disk quota/i, "the disk of the server is full"],
  [/file too large|file size limit/i, "it contains a file that is too large"],
  [/sandbox_timeout|did not end within/i, "it was not fetched in time"],
  [/unpack entry: .*: link: no such file/i, "one of its layers links to a file that the image does not have"],
  [/chown .*invalid argument/i, "one of its files belongs to a user or group whose number is above 65535"],
  [/unknown typeflag/i, "one of its layers has an entry that umoci does not know"],
  [/mismatch|unexpected eof|invalid (tar )?header|gzip/i, "it is damaged"],
  [/unknown blob mediatype|unknown media|zstd/i, "its layers are compressed in a format that umoci does not support"],
];
