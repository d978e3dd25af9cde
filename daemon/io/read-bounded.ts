import { AppError } from "@berth/contract/errors.ts";

export interface Bound {
  maxBytes: number;
  // The sentence for the caller when the stream is longer.
  tooLarge: string;
}

// Reads a stream to its end. Throws `too_large` as soon as it exceeds the bound.
export async function readBounded(stream: AsyncIterable<unknown>, { maxBytes, tooLarge }: Bound): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBytes) throw new AppError("too_large", { message: tooLarge });
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
