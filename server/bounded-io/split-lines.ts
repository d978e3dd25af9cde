// Yields the lines of a stream of UTF-8, without their ends. Empty lines and an unfinished last line are left out. Throws when a
// line is longer than `maxLength` characters.
export async function* splitLines(body: AsyncIterable<Uint8Array>, maxLength: number): AsyncIterable<string> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of body) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop()!;
    if ([...lines, rest].some((line) => line.length > maxLength)) throw new Error(`a line is longer than ${maxLength} characters`);
    for (const line of lines) if (line.trim() !== "") yield line;
  }
}
