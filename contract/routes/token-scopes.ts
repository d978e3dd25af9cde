import { fitsPattern } from "../matching/path-pattern.ts";
import type { TokenScope } from "../schemas/session-token.ts";
import { SANDBOX_ROUTES } from "./sandbox/sandbox-routes.ts";

// `any`: every token of the session may make the call. null: none may.
export type CallScope = TokenScope | "any" | null;

// The WebSockets of a sandbox. Those without a scope serve the workspace page, which shows all parts of the sandbox at once.
export const SANDBOX_SOCKETS: readonly [path: string, scope: CallScope][] = [
  ["/terminals/{terminalId}", "terminals"],
  ["/agent/stream", "agent"],
  ["/acp", "agent"],
  ["/ssh", "ssh"],
  ["/events", null],
  ["/together", null],
  ["/languages/{language}", null],
];

const SANDBOX = "/sandboxes/{sandboxId}";
const CALLS: readonly [method: string, path: string, scope: CallScope][] = [
  ...Object.values(SANDBOX_ROUTES).map(({ method, path, tokenScope }): [string, string, CallScope] => [
    method,
    path.slice(SANDBOX.length),
    tokenScope,
  ]),
  ...SANDBOX_SOCKETS.map(([path, scope]): [string, string, CallScope] => ["WS", path, scope]),
];

// The scope that a token needs for a call of the sandbox API. `method` is `WS` for a WebSocket; `path` is below the sandbox URL, without
// a query. A call that is not in the table is for keys only.
export function tokenScopeOf(method: string, path: string): CallScope {
  const asked = method === "HEAD" ? "GET" : method;
  return CALLS.find(([known, pattern]) => known === asked && fitsPattern(pattern, path))?.[2] ?? null;
}
