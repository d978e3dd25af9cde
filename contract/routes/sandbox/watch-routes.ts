import Type from "typebox";
import { Watcher, WatcherEvents, WatchEvent } from "../../schemas/sandbox/sandbox-files.ts";
import { query, route, type SandboxRoute } from "../route.ts";
import { base, FILE_ERRORS, folderOfBase } from "./file-parameters.ts";

const FILES = "/sandboxes/{sandboxId}/files";
const recursive = query("recursive", "Whether the folders in it are watched too.", Type.Boolean({ default: false }));

export const WATCH_ROUTES = {
  watchFolder: route({
    method: "GET",
    path: `${FILES}/watch`,
    tag: "Files",
    tokenScope: "files",
    summary: "Watch a folder",
    description: "Streams the changes in a folder until the caller disconnects. Each line of the response is one JSON object.",
    query: [folderOfBase, base, recursive],
    success: { status: 200, description: "The changes.", lines: { media: "application/x-ndjson", schema: WatchEvent } },
    errors: [...FILE_ERRORS, "too_many", "too_large"],
  }),
  createWatcher: route({
    method: "POST",
    path: `${FILES}/watchers`,
    tag: "Files",
    tokenScope: "files",
    summary: "Create a watcher",
    description: "Collects the changes in a folder for a caller that polls. A sandbox has at most 64 watchers. They end with its programs.",
    query: [folderOfBase, base, recursive],
    success: { status: 201, description: "The watcher.", schema: Watcher },
    errors: [...FILE_ERRORS, "too_many", "too_large"],
  }),
  readWatcher: route({
    method: "GET",
    path: `${FILES}/watchers/{watcherId}`,
    tag: "Files",
    tokenScope: "files",
    summary: "Read a watcher",
    description: "Returns the changes since the last call, of which the last 10,000 are kept.",
    success: { status: 200, description: "The changes.", schema: WatcherEvents },
    errors: ["not_found"],
  }),
  deleteWatcher: route({
    method: "DELETE",
    path: `${FILES}/watchers/{watcherId}`,
    tag: "Files",
    tokenScope: "files",
    summary: "Delete a watcher",
    description: "Ends a watcher.",
    success: { status: 204, description: "The watcher is gone." },
    errors: ["not_found"],
  }),
} as const satisfies Record<string, SandboxRoute>;
