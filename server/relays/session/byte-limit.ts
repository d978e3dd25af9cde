import { Transform, type Readable } from "node:stream";
import { RelayRefusal } from "./relay-refusal.ts";

// The same bytes, up to a limit, and their number. A transfer without an end would occupy its slot forever.
export function limitBytes(source: Readable, maxBytes: number, count: (bytes: number) => void): Readable {
  let bytes = 0;
  const limit = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length;
      count(chunk.length);
      if (bytes > maxBytes) done(new RelayRefusal(413, "The transfer is too large."));
      else done(null, chunk);
    },
  });
  source.on("error", (error) => limit.destroy(error));
  // A source that is closed early never ends.
  source.on("close", () => void (source.readableEnded || limit.destroy(new Error("The connection was closed"))));
  limit.on("close", () => void (limit.readableEnded || source.destroy()));
  return source.pipe(limit);
}
