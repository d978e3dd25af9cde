import type { Language } from "@berth/contract/daemon/languages.ts";
import { openClient, type ClientDeps, type LanguageClient } from "./client.ts";

// Do not ask for a server again sooner than this, if there was none.
const ASK_AGAIN_MS = 30_000;

const clients = new Map<Language, Promise<LanguageClient | null>>();

// The client of a language, which all files of that language share.
export function clientFor(deps: ClientDeps, language: Language): Promise<LanguageClient | null> {
  const client = clients.get(language) ?? openClient(deps, language, () => void setTimeout(() => clients.delete(language), ASK_AGAIN_MS));
  clients.set(language, client);
  return client;
}
