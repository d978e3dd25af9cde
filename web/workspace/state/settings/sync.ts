import type { UserSettings } from "@berth/contract/workspace.ts";
import type { SettingsValues } from "./values.ts";

export interface SyncDeps {
  read: () => Promise<UserSettings>;
  // Resolves to the new version, or to null if another browser has written since.
  write: (settings: UserSettings) => Promise<number | null>;
  values: () => SettingsValues;
  // Replaces the values with those from the server.
  show: (values: SettingsValues) => void;
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
export function createSettingsSync({ read, write, values, show, writeAfterMs = 800 }: SyncDeps): SettingsSync {
  let version: number | null = null;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const changedKeys = new Set<string>();

  async function pull(): Promise<void> {
    const stored = await read().catch(() => null);
    if (stored === null) return;
    const isFirst = version === null;
    version = stored.version;
    // The first settings of a user are those that the browser has.
    if (isFirst && stored.version === 0) for (const key of Object.keys(values())) changedKeys.add(key);
    show(merge(stored.settings));
    if (changedKeys.size > 0) schedule();
  }

  function merge(theirs: SettingsValues): SettingsValues {
    const mine = values();
    const merged: Record<string, unknown> = { ...theirs };
    for (const key of changedKeys) {
      if (Object.hasOwn(mine, key)) merged[key] = mine[key];
      else delete merged[key];
    }
    return merged;
  }

  function schedule(): void {
    clearTimeout(timer);
    timer = setTimeout(() => void push(MAX_ATTEMPTS), writeAfterMs);
  }

  async function push(attempts: number): Promise<void> {
    if (version === null) return pull();
    const sent = [...changedKeys];
    const sentValues = values();
    try {
      const written = await write({ settings: sentValues, version });
      if (written !== null) {
        version = written;
        for (const key of sent) if (values()[key] === sentValues[key]) changedKeys.delete(key);
        return;
      }
      const stored = await read();
      version = stored.version;
      show(merge(stored.settings));
      if (attempts > 1) await push(attempts - 1);
    } catch {
      // The keys stay marked as changed.
    }
  }

  return {
    pull,
    changed(keys) {
      for (const key of keys) changedKeys.add(key);
      schedule();
    },
  };
}
