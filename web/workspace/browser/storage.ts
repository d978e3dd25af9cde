// Small things that are remembered in the browser. A browser that keeps nothing (private mode, blocked in a frame) is
// not an error: the workspace then begins with its defaults.
export function remember<T extends object>(key: string, defaults: T): { value: T; save: (value: T) => void } {
  return { value: { ...defaults, ...read(key) }, save: (value) => write(key, value) };
}

function read(key: string): object {
  try {
    const value: unknown = JSON.parse(localStorage.getItem(key) ?? "{}");
    return typeof value === "object" && value !== null ? value : {};
  } catch {
    return {};
  }
}

function write(key: string, value: object): void {
  try {
    localStorage.setItem(key, JSON.stringify(value));
  } catch {
    // Full or forbidden: the layout is not remembered, nothing else is lost.
  }
}
