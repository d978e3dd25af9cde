import type { Span } from "../tracing/span.ts";
import { formatTraceparent } from "../tracing/trace-context.ts";

// Headers that make the daemon's spans part of the request's trace.
export const traceHeaders = (span: Span | undefined): Record<string, string> => (span ? { traceparent: formatTraceparent(span) } : {});

// Without the query, which holds names of files.
export const spanResult = ({ method, path }: { method: string; path: string }, status?: number) => ({
  attributes: { "http.request.method": method, "url.path": path.split("?", 1)[0], "http.response.status_code": status },
  ...(status !== undefined && status >= 500 && { error: String(status) }),
});
