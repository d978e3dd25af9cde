// Formats the text of an open file in its editor.
export type Format = (path: string) => Promise<void>;

const MAX_FORMAT_MS = 3000;

// The formatter of files, if there is one. A language server registers it.
export function createFormatter() {
  let format: Format | null = null;
  return {
    isRegistered: (): boolean => format !== null,
    register(next: Format): Disposable {
      format = next;
      return { [Symbol.dispose]: () => void (format === next && (format = null)) };
    },
    // A formatter that fails or takes too long must not prevent a save.
    async run(path: string): Promise<void> {
      if (format === null) return;
      await Promise.race([format(path).catch(() => {}), new Promise((resolve) => setTimeout(resolve, MAX_FORMAT_MS))]);
    },
  };
}
