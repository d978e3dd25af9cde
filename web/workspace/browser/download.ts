// Makes the browser download a URL and name the file after the last part of the path.
export function download(url: string, path: string): void {
  const link = document.createElement("a");
  link.href = url;
  link.download = path.slice(path.lastIndexOf("/") + 1);
  link.click();
}
