import Type from "typebox";
import {
  CopyRequest,
  FilePath,
  FolderListing,
  FoundFiles,
  IgnoredFiles,
  MoveRequest,
  RestoreRequest,
  SearchEvent,
  TrashedFiles,
  TrashRequest,
  WrittenFile,
} from "../../schemas/sandbox/sandbox.ts";
import { FileDetails, FileTree } from "../../schemas/sandbox/sandbox-files.ts";
import { header, query, route, type SandboxRoute } from "../route.ts";
import { base, FILE_ERRORS, folderOfBase } from "./file-parameters.ts";

const SANDBOX = "/sandboxes/{sandboxId}";
const FILES = `${SANDBOX}/files`;
const NDJSON = "application/x-ndjson";
const BYTES = "application/octet-stream";
const path = query("path", "The path, relative to the workspace and separated by `/`.", Type.String({ minLength: 1 }), "required");
const pathOfBase = query("path", "The path.", Type.String({ minLength: 1 }), "required");
const folder = query("path", "The folder, relative to the workspace. Default: the workspace itself.", Type.String({ default: "" }));
const flag = (name: string, description: string) => query(name, description, Type.Boolean({ default: false }));
const limit = (maximum: number, fallback: number) =>
  query("limit", "The maximum number of results.", Type.Integer({ minimum: 1, maximum, default: fallback }));
const attributes = query(
  "attributes",
  'The extended attributes that the file gets: a JSON object, such as `{"user.author": "me"}`, of at most 4 KiB. This needs python3 in the sandbox.',
  Type.String(),
);
const attributePrefix = query(
  "attributes",
  "The prefix of the extended attributes to return, such as `user.author.`. This needs python3 in the sandbox.",
  Type.String(),
);
const ifMatch = header("If-Match", "The `ETag` that the file must still have; otherwise the response is 412.");
const ifNoneMatch = header("If-None-Match", "`*`: it must not exist yet; otherwise the response is 412.");

export const FILE_ROUTES = {
  listFiles: route({
    method: "GET",
    path: `${FILES}`,
    tag: "Files",
    tokenScope: "files",
    summary: "List a folder",
    description: "Returns the files and folders in a folder.",
    query: [folder, base],
    success: { status: 200, description: "The folder.", schema: FolderListing },
    errors: FILE_ERRORS,
  }),
  deleteFile: route({
    method: "DELETE",
    path: `${FILES}`,
    tag: "Files",
    tokenScope: "files",
    summary: "Delete a file or folder",
    description: "Deletes a file, or a folder with its contents.",
    query: [path, base],
    success: { status: 204, description: "It is deleted." },
    errors: FILE_ERRORS,
  }),
  readFile: route({
    method: "GET",
    path: `${FILES}/content`,
    tag: "Files",
    tokenScope: "files",
    summary: "Read a file",
    description: "Returns the bytes of a file, with `ETag` and `Last-Modified`. A single `Range` and `If-Range` are supported.",
    query: [
      path,
      base,
      query("download", "If present, the response names the file for a download.", Type.String()),
      header("Range", "The bytes to return, such as `bytes=0-1023`."),
      header("If-None-Match", "The `ETag` of an earlier response. If the file has not changed since, the response is 304."),
    ],
    success: {
      status: 200,
      description: "The whole file.",
      media: [BYTES],
      etag: true,
      also: [{ status: 206, description: "The requested range.", media: [BYTES] }],
    },
    errors: [...FILE_ERRORS, "is_folder", "not_a_file", "range"],
  }),
  writeFile: route({
    method: "PUT",
    path: `${FILES}/content`,
    tag: "Files",
    tokenScope: "files",
    summary: "Write a file",
    description:
      "Replaces the content of a file, or creates the file and its parent folders. The write is atomic: readers see the old content or the new one. The body is the content, up to 4 GiB.",
    query: [
      path,
      base,
      attributes,
      query("encoding", "With `gzip`, the file is what the body unpacks to.", Type.Enum(["identity", "gzip"], { default: "identity" })),
      ifMatch,
      ifNoneMatch,
    ],
    upload: BYTES,
    success: {
      status: 200,
      description: "The file is replaced.",
      schema: WrittenFile,
      etag: "response",
      also: [{ status: 201, description: "The file is created.", schema: WrittenFile }],
    },
    errors: [...FILE_ERRORS, "is_folder", "not_a_file", "aborted", "exists", "changed", "body_too_large", "disk_full"],
  }),
  createFolder: route({
    method: "POST",
    path: `${FILES}/folder`,
    tag: "Files",
    tokenScope: "files",
    summary: "Create a folder",
    description: "Creates a folder and its parents. It is not an error if the folder exists.",
    query: [base, ifNoneMatch],
    body: { schema: FilePath, required: true },
    success: { status: 201, description: "The folder exists.", schema: FilePath },
    errors: [...FILE_ERRORS, "exists", "changed", "too_large", "disk_full"],
  }),
  moveFile: route({
    method: "POST",
    path: `${FILES}/move`,
    tag: "Files",
    tokenScope: "files",
    summary: "Move a file or folder",
    description: "Renames or moves a file or folder.",
    query: [base],
    body: { schema: MoveRequest, required: true },
    success: { status: 200, description: "It is moved; `path` is the new path.", schema: FilePath },
    errors: [...FILE_ERRORS, "exists", "too_large"],
  }),
  copyFile: route({
    method: "POST",
    path: `${FILES}/copy`,
    tag: "Files",
    tokenScope: "files",
    summary: "Copy a file or folder",
    description: "Copies a file, a link, or a folder with its contents.",
    query: [base],
    body: { schema: CopyRequest, required: true },
    success: { status: 201, description: "It is copied; `path` is the copy.", schema: FilePath },
    errors: [...FILE_ERRORS, "exists", "too_large", "disk_full"],
  }),
  trashFiles: route({
    method: "POST",
    path: `${FILES}/trash`,
    tag: "Files",
    tokenScope: "files",
    summary: "Delete files, with undo",
    description:
      "Deletes files and folders together and keeps a copy in the sandbox for a day, or until newer deletions need the room. If they are larger than 64 MiB or 10,000 files, the response is 413 and nothing is deleted.",
    body: { schema: TrashRequest, required: true },
    success: { status: 201, description: "They are deleted.", schema: TrashedFiles },
    errors: [...FILE_ERRORS, "too_large", "disk_full"],
  }),
  restoreFiles: route({
    method: "POST",
    path: `${FILES}/restore`,
    tag: "Files",
    tokenScope: "files",
    summary: "Undo a deletion",
    description:
      "Restores the files and folders of one deletion. If one of their paths is taken, the response is 409 and nothing is restored.",
    body: { schema: RestoreRequest, required: true },
    success: { status: 200, description: "They are restored.", schema: TrashedFiles },
    errors: [...FILE_ERRORS, "exists", "too_large", "disk_full"],
  }),
  downloadFolder: route({
    method: "GET",
    path: `${FILES}/archive`,
    tag: "Files",
    tokenScope: "files",
    summary: "Download a folder",
    description: "Streams a folder with its contents as a zip file.",
    query: [folder, base],
    success: { status: 200, description: "The zip file.", media: ["application/zip"] },
    errors: FILE_ERRORS,
  }),
  listIgnoredFiles: route({
    method: "GET",
    path: `${FILES}/ignored`,
    tag: "Files",
    tokenScope: "files",
    summary: "List ignored files",
    description: "Returns the names of the files and folders in a folder that git ignores: none outside a repository.",
    query: [folder],
    success: { status: 200, description: "The names.", schema: IgnoredFiles },
    errors: FILE_ERRORS,
  }),
  findFiles: route({
    method: "GET",
    path: `${FILES}/find`,
    tag: "Files",
    tokenScope: "files",
    summary: "Find files by name",
    description: "Returns the files whose path contains the letters of `q` in this order.",
    query: [query("q", "The letters, at most 200. Default: all files match.", Type.String({ maxLength: 200 })), limit(500, 50)],
    success: { status: 200, description: "The paths.", schema: FoundFiles },
    errors: ["bad_request"],
  }),
  searchFiles: route({
    method: "GET",
    path: `${SANDBOX}/search`,
    tag: "Files",
    tokenScope: "files",
    summary: "Search in files",
    description:
      "Streams the occurrences of a text, one JSON object per line; the last one is `done`. Files that git ignores and files of more than 5 MB are skipped.",
    query: [
      query("q", "What to search for.", Type.String({ minLength: 1, maxLength: 1000 }), "required"),
      flag("regex", "Whether `q` is a regular expression."),
      flag("case", "Whether upper and lower case differ."),
      flag("word", "Whether only whole words match."),
      query("include", "Only search these files: globs separated by commas, such as `src/**,*.ts`.", Type.String()),
      query("exclude", "Do not search these files: globs separated by commas.", Type.String()),
      query("file", "Only search this file.", Type.String()),
      query("fileLimit", "The maximum number of matches in one file. Default: `limit`.", Type.Integer({ minimum: 1, maximum: 10_000 })),
      limit(10_000, 1000),
    ],
    success: { status: 200, description: "The matches.", lines: { media: NDJSON, schema: SearchEvent } },
    errors: ["bad_request", "path_outside", "not_found", "busy"],
  }),
  getFile: route({
    method: "GET",
    path: `${FILES}/stat`,
    tag: "Files",
    tokenScope: "files",
    summary: "Get a file or folder",
    description: "Returns what is known about a file or folder.",
    query: [pathOfBase, base, attributePrefix],
    success: { status: 200, description: "The details.", schema: FileDetails },
    errors: FILE_ERRORS,
  }),
  listTree: route({
    method: "GET",
    path: `${FILES}/tree`,
    tag: "Files",
    tokenScope: "files",
    summary: "List a folder with details",
    description: "Returns the files and folders in a folder and, down to a depth, in the folders in it.",
    query: [folderOfBase, base, query("depth", "How many levels to list.", Type.Integer({ minimum: 1, default: 1 })), attributePrefix],
    success: { status: 200, description: "The entries.", schema: FileTree },
    errors: FILE_ERRORS,
  }),
} as const satisfies Record<string, SandboxRoute>;
