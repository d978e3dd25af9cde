import { CONSOLE_HEADER, CONSOLE_PATHS, type ViewerKind } from "@berth/contract/console.ts";

// The calls of the console. Rejects with an ApiError, also if the server cannot be reached.
export interface Api {
  get<Result>(path: string, query?: Query, signal?: AbortSignal): Promise<Result>;
  post<Result>(path: string, options?: { query?: Query; body?: object }): Promise<Result>;
  // The body as it is, for a download.
  text(path: string, query?: Query): Promise<string>;
}

// Empty values are left out.
export type Query = Record<string, string | null | undefined>;

export class ApiError extends Error {
  // 0 if there was no answer.
  readonly status: number;
  // The faults of a form, by field.
  readonly faults: Record<string, string>;

  constructor(status: number, message: string, faults: Record<string, string> = {}) {
    super(message);
    this.status = status;
    this.faults = faults;
  }
}

export function createApi(kind: ViewerKind, { onSignedOut }: { onSignedOut: () => void }): Api {
  async function call(method: string, path: string, query: Query, init: RequestInit = {}): Promise<Response> {
    const headers = { [CONSOLE_HEADER]: "1", ...(init.body != null && { "content-type": "application/json" }) };
    const response = await fetch(`${CONSOLE_PATHS[kind]}/api${path}${queryText(query)}`, { ...init, method, headers }).catch(
      (error: unknown) => {
        if (init.signal?.aborted) throw error;
        throw new ApiError(0, "The server does not answer");
      },
    );
    if (response.ok) return response;
    if (response.status === 401 && path !== "/login") onSignedOut();
    throw await readError(response);
  }

  return {
    get: async <Result>(path: string, query: Query = {}, signal?: AbortSignal) =>
      (await (await call("GET", path, query, signal ? { signal } : {})).json()) as Result,
    post: async <Result>(path: string, { query = {}, body }: { query?: Query; body?: object } = {}) =>
      (await (await call("POST", path, query, body ? { body: JSON.stringify(body) } : {})).json()) as Result,
    text: async (path, query = {}) => (await call("GET", path, query)).text(),
  };
}

export function queryText(query: Query): string {
  const given = Object.entries(query).filter((pair): pair is [string, string] => Boolean(pair[1]));
  return given.length === 0 ? "" : `?${new URLSearchParams(given).toString()}`;
}

async function readError(response: Response): Promise<ApiError> {
  const body = (await response.json().catch(() => null)) as { error?: string; details?: { field: string; message: string }[] } | null;
  const details = body?.details?.map(({ message }) => message).join("; ");
  const message = [body?.error ?? `The server answered ${response.status}`, details].filter(Boolean).join(": ");
  return new ApiError(response.status, message, Object.fromEntries(body?.details?.map((fault) => [fault.field, fault.message]) ?? []));
}
