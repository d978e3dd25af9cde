// The server names files by URIs. It may escape other characters than we do, so URIs are compared by their paths.
export const uriAt = (rootUri: string, path: string): string => `${rootUri}/${path.split("/").map(encodeURIComponent).join("/")}`;

// The path of a file in the workspace; null for a file outside.
export function pathAt(rootUri: string, uri: string): string | null {
  const [root, full] = [decode(rootUri), decode(uri)];
  return full.startsWith(`${root}/`) ? full.slice(root.length + 1) : null;
}

function decode(uri: string): string {
  try {
    return decodeURIComponent(uri);
  } catch {
    return uri;
  }
}
