// The calls of a program, as data, so that every client can make them. Names are those of the TypeScript client; in Python they
// are `session_id` and `exec_stream`.
export interface Journey {
  name: string;
  steps: Step[];
}

export interface Call {
  // A method of the client, `berth.sessions.create`, of something that was kept, `session.files.write`, or of the package.
  call: string;
  // A text such as `$session.sessionId` stands for a part of something that was kept.
  args?: unknown[];
  // The last argument in TypeScript, and keyword arguments in Python.
  options?: Record<string, unknown>;
  // Keeps the result under this name.
  keep?: string;
  // Of a stream: leaves the loop after this many.
  take?: number;
}

export interface Step extends Call {
  // Parts of the result, as in `toMatchObject`; of a stream or a list, an array.
  gives?: unknown;
  // Says more about the result, and may keep something of it.
  check?(result: unknown, kept: Record<string, unknown>): void;
  // The class of the error, and parts of it.
  throws?: { name: string; [fact: string]: unknown };
  // Calls until the result is the expected one.
  until?: true;
  // Further calls that begin at the same moment. The results are an array.
  together?: Call[];
}

export interface Outcome {
  value?: unknown;
  error?: { name: string; code: string; status?: number | null; retryAfterMs?: number | null; message: string };
}

// A client that makes the calls of journeys.
export interface Runner extends AsyncDisposable {
  // All of them at once. The outcomes are in the order of the calls.
  run(calls: Call[]): Promise<Outcome[]>;
}

export interface Connection {
  baseUrl: string;
  apiKey: string;
  timeoutMs?: number;
  maxRetries?: number;
}
