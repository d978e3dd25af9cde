import { type LSPClient, LSPPlugin } from "@codemirror/lsp-client";
import type { EditorView } from "@codemirror/view";
import type { Position } from "./messages.ts";

const TIMEOUT_MS = 20_000;

// Clients whose server does not run any more.
const ended = new WeakSet<LSPClient>();
export const markEnded = (client: LSPClient): void => void ended.add(client);

// Asks the server of an editor's file, after sending it the typed text. Throws an error with a sentence for people.
export async function ask<Result>(view: EditorView, method: string, params: object = {}): Promise<Result | null> {
  const plugin = LSPPlugin.get(view);
  if (!plugin?.client.connected) return null;
  if (ended.has(plugin.client)) throw new Error("The language server does not run. Reload the page to start it again");
  plugin.client.sync();
  const tooLate = Promise.withResolvers<never>();
  const timer = setTimeout(() => tooLate.reject(new Error("The language server did not answer in time")), TIMEOUT_MS);
  const request = plugin.client.request<object, Result | null>(method, { textDocument: { uri: plugin.uri }, ...params });
  try {
    return await Promise.race([request, tooLate.promise]);
  } catch (error) {
    // The server's errors are plain objects.
    throw error instanceof Error
      ? error
      : new Error((error as { message?: string }).message ?? "The language server failed", { cause: error });
  } finally {
    clearTimeout(timer);
  }
}

export function positionAt(view: EditorView, offset: number): Position {
  const line = view.state.doc.lineAt(offset);
  return { line: line.number - 1, character: offset - line.from };
}

type Capability = "renameProvider" | "documentFormattingProvider" | "documentSymbolProvider" | "codeActionProvider";

// Whether the server offers something. Some servers fail if they are asked for the rest.
export const offers = (view: EditorView, capability: Capability): boolean =>
  Boolean(LSPPlugin.get(view)?.client.serverCapabilities?.[capability]);

// Whether the server wants to be asked if a name can be changed.
export function checksRenames(view: EditorView): boolean {
  const provider = LSPPlugin.get(view)?.client.serverCapabilities?.renameProvider;
  return typeof provider === "object" && provider.prepareProvider === true;
}

export const wordAt = (view: EditorView, offset: number): string => {
  const range = view.state.wordAt(offset);
  return range ? view.state.sliceDoc(range.from, range.to) : "";
};
