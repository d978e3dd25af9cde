import type { Diagnostic } from "@codemirror/lint";
import type { ServerDiagnostic } from "./messages.ts";

const sources = new WeakMap<Diagnostic, ServerDiagnostic>();

// Remembers what the server said about a problem in an editor. The server wants that back when it is asked for a quick fix.
export function withSource(diagnostic: Diagnostic, source: ServerDiagnostic): Diagnostic {
  sources.set(diagnostic, source);
  return diagnostic;
}

export const serverDiagnosticOf = (diagnostic: Diagnostic): ServerDiagnostic | undefined => sources.get(diagnostic);
