import { requireNative } from "./native-package.ts";

// The part of koffi (https://koffi.dev) that is used here.
export interface Koffi {
  load(path: null): Library;
  errno(): number;
}

export interface Library {
  func(declaration: string): ((...args: unknown[]) => number) & {
    // Calls it on another thread. The last argument is a callback with an error or the result.
    async(...args: unknown[]): void;
  };
}

// Throws if koffi is not installed.
export function loadKoffi(): Koffi {
  return requireNative(`@koromix/koffi-linux-${process.arch}/linux_${process.arch}/koffi.node`) as Koffi;
}
