// Yields the lines of a UTF-8 stream without their line endings, including a last line that has none. Skips empty lines.
export async function* readLines(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = stream.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      rest += done ? decoder.decode() : decoder.decode(value, { stream: true });
      const lines = rest.split("\n");
      rest = done ? "" : (lines.pop() ?? "");
      for (const line of lines) if (line !== "") yield line.replace(/\r$/, "");
      if (done) return;
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}
