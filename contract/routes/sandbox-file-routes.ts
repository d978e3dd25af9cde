import Type from "typebox";
import type { ErrorCode } from "../errors.ts";
import { FileDetails, FileTree, Watcher, WatcherEvents, WatchEvent } from "../schemas/sandbox/sandbox-files.ts";
import { query, route, type Route } from "./route.ts";

const FILES = "/sandboxes/{sandboxId}/files";
const ERRORS = ["bad_request", "forbidden", "path_outside", "not_found"] as const satisfies ErrorCode[];

// Of every route that takes the paths of files.
export const base = query(
  "base",
  "With `home`, paths are relative to the user's home, or absolute, anywhere in the sandbox. Otherwise they are relative to the workspace and stay in it.",
  Type.Enum(["workspace", "home"], { default: "workspace" }),
);
const folder = query("path", "The folder. Default: the base.", Type.String({ default: "" }));
const recursive = query("recursive", "Whether the folders in it are watched too.", Type.Boolean({ default: false }));
const attributes = query(
  "attributes",
  "The prefix of the extended attributes to return, such as `user.author.`. This needs python3 in the sandbox.",
  Type.String(),
);

export const FILE_ROUTES = {
  getFile: route({
    method: "GET",
    path: `${FILES}/stat`,
    tag: "Files",
    summary: "Get a file or folder",
    description: "Returns what is known about a file or folder.",
    query: [query("path", "The path.", Type.String({ minLength: 1 }), "required"), base, attributes],
    success: { status: 200, description: "The details.", schema: FileDetails },
    errors: ERRORS,
  }),
  listTree: route({
    method: "GET",
    path: `${FILES}/tree`,
    tag: "Files",
    summary: "List a folder with details",
    description: "Returns the files and folders in a folder and, down to a depth, in the folders in it.",
    query: [folder, base, query("depth", "How many levels to list.", Type.Integer({ minimum: 1, default: 1 })), attributes],
    success: { status: 200, description: "The entries.", schema: FileTree },
    errors: ERRORS,
  }),
  watchFolder: route({
    method: "GET",
    path: `${FILES}/watch`,
    tag: "Files",
    summary: "Watch a folder",
    description: "Streams the changes in a folder until the caller disconnects. Each line of the response is one JSON object.",
    query: [folder, base, recursive],
    success: { status: 200, description: "The changes.", lines: { media: "application/x-ndjson", schema: WatchEvent } },
    errors: [...ERRORS, "too_many", "too_large"],
  }),
  createWatcher: route({
    method: "POST",
    path: `${FILES}/watchers`,
    tag: "Files",
    summary: "Create a watcher",
    description: "Collects the changes in a folder for a caller that polls. A sandbox has at most 64 watchers. They end with its programs.",
    query: [folder, base, recursive],
    success: { status: 201, description: "The watcher.", schema: Watcher },
    errors: [...ERRORS, "too_many", "too_large"],
  }),
  readWatcher: route({
    method: "GET",
    path: `${FILES}/watchers/{watcherId}`,
    tag: "Files",
    summary: "Read a watcher",
    description: "Returns the changes since the last call, of which the last 10,000 are kept.",
    success: { status: 200, description: "The changes.", schema: WatcherEvents },
    errors: ["not_found"],
  }),
  deleteWatcher: route({
    method: "DELETE",
    path: `${FILES}/watchers/{watcherId}`,
    tag: "Files",
    summary: "Delete a watcher",
    description: "Ends a watcher.",
    success: { status: 204, description: "The watcher is gone." },
    errors: ["not_found"],
  }),
} as const satisfies Record<string, Route>;
