// Paths relative to the workspace, with `/` as separator; "" is the workspace itself.
export const nameOf = (path: string): string => path.slice(path.lastIndexOf("/") + 1);
export const parentOf = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf("/")));
export const joinPath = (folder: string, name: string): string => (folder === "" ? name : `${folder}/${name}`);
export const isWithin = (path: string, folder: string): boolean => folder === "" || path === folder || path.startsWith(`${folder}/`);
export const movedPath = (path: string, from: string, to: string): string => (path === from ? to : to + path.slice(from.length));
export const extensionOf = (path: string): string => /\.([^./]+)$/.exec(path)?.[1]?.toLowerCase() ?? "";

// Why a file cannot have this name, or null if it can.
export function nameError(name: string): string | null {
  if (name.trim() === "") return "Enter a name";
  if (name === "." || name === "..") return "This name is reserved by the system";
  if (name.split("/").some((part) => part === "" || part === "." || part === "..")) return 'A path cannot contain empty, "." or ".." parts';
  if (name.includes("\0")) return "A name cannot contain a NUL character";
  return null;
}

export function formatBytes(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  const units = ["kB", "MB", "GB", "TB"];
  const power = Math.min(units.length, Math.floor(Math.log(bytes) / Math.log(1024)));
  const value = bytes / 1024 ** power;
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${units[power - 1]}`;
}

export const isMarkdown = (path: string): boolean => ["md", "markdown"].includes(extensionOf(path));
