// Values kept in the browser's local storage. If the browser keeps nothing (private mode, or blocked in a frame), the
// defaults apply.
export function openStorage<T extends object>(key: string, defaults: T): { value: T; save: (value: T) => void } {
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
    // The storage is full or blocked. Only the layout and the preferences are forgotten.
  }
}
