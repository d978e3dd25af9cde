import type { UserSettings } from "@berth/contract/workspace/workspace.ts";
import type { SettingsValues } from "./values.ts";

export interface SyncDeps {
  read: () => Promise<UserSettings>;
  // Resolves to the new version, or to null if another browser has written since.
  write: (settings: UserSettings) => Promise<number | null>;
  values: () => SettingsValues;
  // Replaces the values with those from the server.
  show: (values: SettingsValues) => void;
  // The names of the settings that this browser has and the server does not have yet. They are stored, because the page may be
  // reloaded before they are written.
  unwritten: { value: Record<string, true>; save: (value: Record<string, true>) => void };
  writeAfterMs?: number;
}

export interface SettingsSync {
  // Reads the settings from the server. Changes here since the last write stay.
  pull(): Promise<void>;
  // The person changed these settings here.
  changed(keys: readonly string[]): void;
}

const MAX_ATTEMPTS = 3;

// Keeps the settings of this browser and those on the server the same. The last change of each setting wins. If the server
// cannot be reached, the settings stay in this browser, and the next pull or change tries again.
export function createSettingsSync({ read, write, values, show, unwritten, writeAfterMs = 800 }: SyncDeps): SettingsSync {
  let version: number | null = null;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const marks = unwritten.value;

  async function pull(): Promise<void> {
    const stored = await read().catch(() => null);
    if (!stored) return;
    // The first settings of a user are those that the browser has.
    changed(version === null && stored.version === 0 ? Object.keys(values()) : []);
    accept(stored);
  }

  function accept(stored: UserSettings): void {
    version = stored.version;
    const mine = values();
    const merged: Record<string, unknown> = { ...stored.settings };
    for (const key in marks) {
      if (Object.hasOwn(mine, key)) merged[key] = mine[key];
      else delete merged[key];
    }
    show(merged);
  }

  function changed(keys: readonly string[]): void {
    for (const key of keys) marks[key] = true;
    unwritten.save(marks);
    clearTimeout(timer);
    if (Object.keys(marks).length > 0) timer = setTimeout(() => void push(MAX_ATTEMPTS), writeAfterMs);
  }

  async function push(attempts: number): Promise<void> {
    if (version === null) return pull();
    const sent = values();
    try {
      const written = await write({ settings: sent, version });
      if (written !== null) {
        version = written;
        for (const key in marks) if (values()[key] === sent[key]) delete marks[key];
        unwritten.save(marks);
        return;
      }
      accept(await read());
      if (attempts > 1) await push(attempts - 1);
    } catch {
      // The settings stay marked.
    }
  }

  return { pull, changed };
}
