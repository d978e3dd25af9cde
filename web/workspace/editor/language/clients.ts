import type { Language } from "@berth/contract/languages.ts";
import type { Workspace } from "../../state/workspace.ts";
import { openClient, type LanguageClient } from "./client.ts";

// Do not ask for a server again sooner than this, if there was none.
const ASK_AGAIN_MS = 30_000;

const clients = new WeakMap<Workspace, Map<Language, Promise<LanguageClient | null>>>();

// The client of a language, which all files of that language share.
export function clientFor(workspace: Workspace, language: Language): Promise<LanguageClient | null> {
  const known = clients.get(workspace) ?? createMap(workspace);
  const client = known.get(language) ?? openClient(workspace, language, () => void setTimeout(() => known.delete(language), ASK_AGAIN_MS));
  known.set(language, client);
  return client;
}

function createMap(workspace: Workspace): Map<Language, Promise<LanguageClient | null>> {
  const created = new Map<Language, Promise<LanguageClient | null>>();
  clients.set(workspace, created);
  workspace.formatter.register(async (path) => {
    const editor = workspace.activeEditor.current();
    if (editor?.path === path) await editor.format();
  });
  return created;
}
