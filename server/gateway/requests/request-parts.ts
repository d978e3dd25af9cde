import type { IncomingMessage } from "node:http";

// The path and the query of a request, undecoded.
export function splitUrl(request: IncomingMessage): { path: string; query: string } {
  const url = request.url ?? "/";
  const at = url.indexOf("?");
  return at < 0 ? { path: url, query: "" } : { path: url.slice(0, at), query: url.slice(at + 1) };
}

export function headerOf(request: IncomingMessage, name: string): string | undefined {
  const value = request.headers[name];
  return Array.isArray(value) ? value[0] : value;
}
