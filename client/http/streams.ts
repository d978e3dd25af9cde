// Reads lines and server-sent events from a response. Leaving the loop early closes the connection.

export async function* lines(response: Response): AsyncGenerator<string> {
  if (!response.body) return;
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      const parts = (rest + value).split("\n");
      rest = parts.pop() ?? "";
      for (const part of parts) yield part.endsWith("\r") ? part.slice(0, -1) : part;
    }
    if (rest !== "") yield rest;
  } finally {
    await reader.cancel().catch(() => {});
  }
}

export async function* jsonLines<T>(response: Response): AsyncGenerator<T> {
  for await (const line of lines(response)) if (line.trim() !== "") yield JSON.parse(line) as T;
}

export interface ServerSentEvent {
  id?: string;
  data: string;
}

export async function* serverSentEvents(response: Response): AsyncGenerator<ServerSentEvent> {
  let id: string | undefined;
  let data: string[] = [];
  for await (const line of lines(response)) {
    if (line === "") {
      if (data.length > 0) yield { id, data: data.join("\n") };
      data = [];
      continue;
    }
    const [, name, value = ""] = /^([^:]*)(?:: ?(.*))?$/.exec(line) ?? [];
    if (name === "data") data.push(value);
    if (name === "id") id = value;
  }
}
