// Reads a whole body into memory. Throws the error of `onTooLong` and destroys the stream as soon as the body exceeds
// `maxBytes`.
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
