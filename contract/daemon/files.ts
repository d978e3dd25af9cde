// Details of single files and watches of folders: a part of the daemon's API (daemon.ts). Plain types, no imports.

// `base=home` in the query of a route below /files, or of POST /processes: paths are relative to the user's home, or absolute, anywhere
// in the sandbox. Without it they are relative to the workspace and stay in it. Not for viewers.

// GET /files/stat?path=&attributes=          FileDetails
// GET /files/tree?path=&depth=&attributes=   FileTree: the entries of a folder and, down to `depth`, of the folders in it; 404 or 400
// PUT /files/content?path=&attributes=       a JSON object of extended attributes, such as {"user.author": "me"}, for the written file
//     …&encoding=gzip                        the body is unpacked
// `attributes=user.author.` in the others asks for the extended attributes whose name begins so. It needs python3 in the sandbox.
export interface FileDetails {
  name: string;
  // Absolute.
  path: string;
  // Of the file that a link leads to; `link` if there is none.
  type: "file" | "folder" | "link" | "other";
  size: number;
  modifiedAtMs: number;
  // The permission bits.
  mode: number;
  owner: string;
  group: string;
  // Where a link leads to; absolute if that exists.
  target?: string;
  attributes?: Record<string, string>;
}

export interface FileTree {
  entries: FileDetails[];
  truncated: boolean;
}

// GET /files/watch?path=&recursive=      NDJSON, one WatchEvent per line, until the caller disconnects. The first one is `start`
// POST /files/watchers?path=&recursive=  201 Watcher: the same for callers that poll; 409 `too_many` above 64
// GET /files/watchers/{id}               WatcherEvents: what has happened since the last call; 404
// DELETE /files/watchers/{id}            204
export type FileChange = "create" | "write" | "remove" | "rename" | "chmod";

export type WatchEvent = { type: "start" } | WatchedChange;

export interface WatchedChange {
  type: FileChange;
  // Relative to the watched folder.
  path: string;
}

export interface Watcher {
  id: string;
}

export interface WatcherEvents {
  events: WatchedChange[];
  // Older events were dropped.
  overflow: boolean;
}
