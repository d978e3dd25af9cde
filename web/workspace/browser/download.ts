// Has the browser keep what an address leads to, under the name of the path.
export function download(url: string, path: string): void {
  const link = document.createElement("a");
  link.href = url;
  link.download = path.slice(path.lastIndexOf("/") + 1);
  link.click();
}
