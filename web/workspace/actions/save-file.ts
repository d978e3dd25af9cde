import type { Uses } from "./actions.ts";

const MAX_FORMAT_MS = 3000;

// Saves a file because the person asked for it. A formatter that fails or takes too long must not prevent that.
export async function saveFile(deps: Uses<"activeEditor" | "documents" | "preferences">, path: string): Promise<void> {
  const editor = deps.activeEditor.current();
  if (deps.preferences.store.getState().formatOnSave && editor?.path === path)
    await Promise.race([editor.format().catch(() => {}), new Promise((resolve) => setTimeout(resolve, MAX_FORMAT_MS))]);
  await deps.documents.save(path);
}
