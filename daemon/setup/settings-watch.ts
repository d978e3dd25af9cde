import { unwatchFile, watchFile } from "node:fs";
import type { RepositorySettings } from "@berth/contract/daemon.ts";
import type { SetupFiles } from "./setup-files.ts";

// Notices when the program in the Setup terminal has found settings for the editor.
export interface SettingsWatch {
  start(): void;
  stop(): void;
}

const LOOK_EVERY_MS = 1_000;

export function watchSettings(
  { settingsFile, readSettings }: Pick<SetupFiles, "settingsFile" | "readSettings">,
  onChange: (settings: RepositorySettings) => void,
): SettingsWatch {
  const look = () => onChange(readSettings());
  return {
    // The file is replaced, and its folder may not be there yet, so a watch over the file itself would miss changes.
    start: () => void watchFile(settingsFile, { interval: LOOK_EVERY_MS, persistent: false }, look),
    stop: () => unwatchFile(settingsFile, look),
  };
}
