// Reads a whole body into memory. Throws the error of `onTooLong` as soon as the body exceeds `maxBytes`; leaving the loop
// destroys the stream, so the sender cannot go on.
export async function readBody(body: AsyncIterable<unknown>, maxBytes: number, onTooLong: () => Error): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw onTooLong();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
