import type { Readable } from "node:stream";
import { AppError } from "@berth/contract/errors.ts";

export interface Bound {
  maxBytes: number;
  // The sentence for the caller when the stream is longer.
  tooLarge: string;
}

// Reads a stream to its end. Throws `too_large` as soon as it exceeds the bound, and `aborted` if it is cut. It listens to events, because
// every request has a body and an iterator takes several times as long.
export function readBounded(stream: Readable, { maxBytes, tooLarge }: Bound): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const end = () => resolve(Buffer.concat(chunks));
    if (stream.readableEnded) return end();
    if (stream.destroyed) return reject(new AppError("aborted"));
    stream.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (size <= maxBytes) return void chunks.push(chunk);
      reject(new AppError("too_large", { message: tooLarge }));
      stream.destroy();
    });
    stream.once("end", end);
    stream.once("error", reject);
    stream.once("close", () => stream.readableEnded || reject(new AppError("aborted")));
  });
}
