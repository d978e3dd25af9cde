import { hoverTooltips, LSPClient, signatureHelp } from "@codemirror/lsp-client";
import type { Extension, Text } from "@codemirror/state";
import type { Language, LanguageServer } from "@berth/contract/daemon/languages.ts";
import DOMPurify from "dompurify";
import { EditorView } from "@codemirror/view";
import { languageCommands } from "./commands/extension.ts";
import type { LanguageDeps } from "./commands/navigation.ts";
import { applyWorkspaceEdit } from "./commands/workspace-edit.ts";
import { connectLanguage } from "./protocol/connection.ts";
import { serverCompletion } from "./completion.ts";
import { createDiagnostics } from "./diagnostics.ts";
import type { FileLanguage } from "./file-language.ts";
import type { WorkspaceEdit } from "./protocol/messages.ts";
import { ServerFiles } from "./protocol/server-files.ts";
import { languageTheme } from "./theme.ts";
import { createFileReports } from "./protocol/file-reports.ts";
import { markEnded } from "./protocol/request.ts";
import { createTransport, type ServerTransport } from "./protocol/transport.ts";
import { pathAt, uriAt } from "./protocol/uris.ts";
import type { Uses } from "../../actions/actions.ts";

export type ClientDeps = LanguageDeps & Uses<"connections">;

// One language server, as the editors of its files see it.
export interface LanguageClient {
  // The extension for the editors of one file.
  support(path: string, language: FileLanguage, text: () => Text): Extension;
  // Opens a file at the server that no editor shows. No-op if it is open.
  open(path: string, language: FileLanguage, text: () => Text): void;
}

// Requests that are not answered are ended when the connection is lost, so the library need not give up on them.
const NEVER_MS = 2 ** 31 - 1;

// Resolves when the server has started; null if there is none.
export function openClient(deps: ClientDeps, language: Language, onEnd: () => void): Promise<LanguageClient | null> {
  const { languages, documents } = deps;
  const opened = Promise.withResolvers<LanguageClient | null>();
  let transport: ServerTransport | null = null;
  let client: LSPClient | null = null;

  languages.setServer(language, { name: language, status: "starting" });
  const connection = connectLanguage(deps, language, {
    onServer(server) {
      client ??= build(server);
      transport = createTransport({
        send: connection.send,
        workspaceFolders: [{ uri: server.rootUri, name: "workspace" }],
        answer: (method, params) => answer(deps, server, method, params),
      });
      client.connect(transport);
      languages.setServer(language, { name: server.name, status: "running" });
    },
    onMessage: (text) => transport?.receive(text),
    onLost() {
      transport?.lost();
      client?.disconnect();
    },
    onEnd(why) {
      languages.setServer(language, why === "none" ? null : { status: "failed" });
      if (client) markEnded(client);
      opened.resolve(null);
      onEnd();
    },
  });
  return opened.promise;

  function build(server: LanguageServer): LSPClient {
    const diagnostics = createDiagnostics({ rootUri: server.rootUri, languages });
    const created = new LSPClient({
      rootUri: server.rootUri,
      initializationOptions: server.initializationOptions,
      timeout: NEVER_MS,
      sanitizeHTML: (html) => DOMPurify.sanitize(html, { USE_PROFILES: { html: true }, FORBID_TAGS: ["style", "form", "img"] }),
      workspace: (owner) => new ServerFiles(owner, diagnostics.fileOpened),
      notificationHandlers: { "window/showMessage": () => true, "window/logMessage": () => true },
      extensions: [serverCompletion(), hoverTooltips(), signatureHelp(), diagnostics.extension, { clientCapabilities }],
    });
    diagnostics.attach(created);
    const files = created.workspace as ServerFiles;
    documents.store.subscribe((state) => {
      for (const { uri } of files.files) {
        const path = pathAt(server.rootUri, uri);
        if (path === null || state.files[path]) continue;
        files.release(uri);
        languages.forgetProblems(path);
      }
    });
    const report = createFileReports(server.rootUri, created);
    languages.onFilesChanged((changes) => {
      report(changes);
      diagnostics.refresh();
    });
    const used = EditorView.updateListener.of(({ docChanged, focusChanged }) => void ((docChanged || focusChanged) && connection.wake()));
    opened.resolve({
      open: (path, { id }, text) => files.openUnseen(uriAt(server.rootUri, path), id, text),
      support(path, { id }, text) {
        const uri = uriAt(server.rootUri, path);
        files.provide(uri, text);
        return [created.plugin(uri, id), languageCommands({ ...deps, rootUri: server.rootUri }, path), used, languageTheme];
      },
    });
    return created;
  }
}

const clientCapabilities = {
  workspace: {
    configuration: true,
    workspaceFolders: true,
    didChangeWatchedFiles: { dynamicRegistration: true },
    workspaceEdit: { documentChanges: true },
    applyEdit: true,
    diagnostics: { refreshSupport: true },
  },
  textDocument: {
    completion: { completionItem: { labelDetailsSupport: true, resolveSupport: { properties: ["additionalTextEdits"] } } },
    rename: { prepareSupport: true },
    codeAction: {
      codeActionLiteralSupport: { codeActionKind: { valueSet: ["", "quickfix", "refactor", "source", "source.organizeImports"] } },
      isPreferredSupport: true,
      disabledSupport: true,
      dataSupport: true,
      resolveSupport: { properties: ["edit"] },
    },
    definition: { linkSupport: true },
    documentSymbol: { hierarchicalDocumentSymbolSupport: true },
    publishDiagnostics: { versionSupport: true, tagSupport: { valueSet: [1, 2] } },
  },
};

// The server's requests. We watch all files and need no progress, so most of them need only an answer.
function answer(deps: ClientDeps, { settings, rootUri }: LanguageServer, method: string, params: unknown): unknown {
  if (method === "workspace/applyEdit") return applyEdit(deps, rootUri, (params as { edit: WorkspaceEdit }).edit);
  if (method !== "workspace/configuration") return null;
  const { items } = params as { items: { section?: string }[] };
  return items.map(({ section }) => (section === undefined ? settings : (settings[section] ?? null)));
}

// A command of the server, such as one that organizes imports, makes its changes through us.
async function applyEdit(deps: ClientDeps, rootUri: string, edit: WorkspaceEdit): Promise<{ applied: boolean }> {
  return { applied: await deps.notices.attempt("Could not apply the change", () => applyWorkspaceEdit(deps, rootUri, edit)) };
}
