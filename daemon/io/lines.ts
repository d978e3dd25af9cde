// Yields the lines of a byte stream and skips lines longer than `maxBytes`. node:readline would load eight modules into
// every daemon.
export async function* linesOf(stream: AsyncIterable<Buffer>, maxBytes = 4 * 1024 * 1024): AsyncGenerator<string> {
  let rest: Buffer[] = [];
  let size = 0;
  for await (const chunk of stream) {
    let from = 0;
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, from)) {
      if (size + end - from <= maxBytes) yield Buffer.concat([...rest, chunk.subarray(from, end)]).toString();
      rest = [];
      size = 0;
      from = end + 1;
    }
    size += chunk.length - from;
    if (size <= maxBytes) rest.push(chunk.subarray(from));
    else rest = [];
  }
  if (size > 0 && size <= maxBytes) yield Buffer.concat(rest).toString();
}
