import type { Extension, Text } from "@codemirror/state";
import { afterFirstScreen } from "../../browser/first-text.ts";
import { loadModule } from "../../browser/load-module.ts";
import type { ClientDeps } from "./client.ts";
import { fileLanguage } from "./file-language.ts";
import type { Uses } from "../../actions/actions.ts";

export type SupportDeps = ClientDeps & Uses<"mayEdit">;

// The server would need too long for a larger file, and its messages would be too large.
export const MAX_CHARS = 250_000;

// The extensions of a language server for the editor of a file; null if there is no server. The client is loaded when the first file
// needs it.
export async function languageSupport(deps: SupportDeps, path: string, text: () => Text): Promise<Extension | null> {
  const language = fileLanguage(path);
  // A language server is a program of the sandbox, and viewers start none.
  if (!deps.mayEdit || language === null || text().length > MAX_CHARS) return null;
  await afterFirstScreen();
  const { clientFor } = await loadModule(() => import("./clients.ts"));
  const client = await clientFor(deps, language.language);
  return client?.support(path, language, text) ?? null;
}
