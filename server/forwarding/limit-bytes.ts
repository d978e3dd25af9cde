import { Transform, type Readable } from "node:stream";

export interface ByteLimit {
  maxBytes: number;
  tooLarge: () => Error;
  // The error if the source is closed before its end.
  cut: () => Error;
  onBytes?: (bytes: number) => void;
}

// The same bytes, up to a limit. A transfer without an end would occupy its connections forever.
export function limitBytes(source: Readable, { maxBytes, tooLarge, cut, onBytes }: ByteLimit): Readable {
  let total = 0;
  const limited = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      total += chunk.length;
      onBytes?.(chunk.length);
      if (total > maxBytes) done(tooLarge());
      else done(null, chunk);
    },
  });
  // A reader that has left listens to no error.
  limited.on("error", () => {});
  source.on("error", (error) => limited.destroy(error));
  // A source that is closed early never ends.
  source.on("close", () => void (source.readableEnded || limited.destroy(cut())));
  return source.pipe(limited);
}
