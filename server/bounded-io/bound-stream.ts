import { pipeline, Transform, type Readable } from "node:stream";

// The same bytes, up to a limit. An error of either stream ends the other, and so does a reader that leaves.
export function boundStream(source: Readable, maxBytes: number, onTooLong: () => Error): Readable {
  let bytes = 0;
  const bounded = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length;
      if (bytes > maxBytes) done(onTooLong());
      else done(null, chunk);
    },
  });
  pipeline(source, bounded, () => {});
  return bounded;
}
