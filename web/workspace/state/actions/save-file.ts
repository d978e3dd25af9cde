import type { Workspace } from "../workspace.ts";

// Saves a file because the person asked for it.
export async function saveFile({ documents, preferences, formatter }: Workspace, path: string): Promise<void> {
  if (preferences.store.getState().formatOnSave) await formatter.run(path);
  await documents.save(path);
}
