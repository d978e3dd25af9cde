const PART_BYTES = 8 * 1024 * 1024;

// Collects the body of a response and reports its progress. Browsers may move a blob to the disk, so the parts that have arrived
// become one early.
export async function readBlob({ body }: Response, onProgress: (bytes: number) => void): Promise<Blob> {
  const parts: Blob[] = [];
  let chunks: Uint8Array<ArrayBuffer>[] = [];
  let chunkBytes = 0;
  let doneBytes = 0;
  const finishPart = () => {
    parts.push(new Blob(chunks));
    chunks = [];
    chunkBytes = 0;
  };
  for await (const chunk of body ? chunksOf(body) : []) {
    chunks.push(chunk);
    chunkBytes += chunk.byteLength;
    doneBytes += chunk.byteLength;
    onProgress(doneBytes);
    if (chunkBytes >= PART_BYTES) finishPart();
  }
  finishPart();
  return new Blob(parts);
}

// Not every browser can iterate over a stream.
async function* chunksOf(stream: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const reader = stream.getReader();
  for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value;
}
