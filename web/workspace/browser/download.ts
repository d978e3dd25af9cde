// Makes the browser download a URL and name the file after the last part of the path.
export function download(url: string, path: string): void {
  const link = document.createElement("a");
  link.href = url;
  link.download = path.slice(path.lastIndexOf("/") + 1);
  link.click();
}

const KEEP_MS = 60_000;

export function saveAs(blob: Blob, name: string): void {
  const url = URL.createObjectURL(blob);
  download(url, name);
  setTimeout(() => URL.revokeObjectURL(url), KEEP_MS);
}
