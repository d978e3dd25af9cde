import Type, { type TProperties } from "typebox";
import { describe } from "../describe.ts";

// The bodies of the sandbox API's details and watches of files, for its description. The types that the daemon uses are in daemon/files.ts.

const named = <P extends TProperties>($id: string, properties: P) => Type.Object(properties, { $id });

export const FileDetails = named("FileDetails", {
  name: Type.String(describe("The name.")),
  path: Type.String(describe("The absolute path.")),
  type: Type.Enum(["file", "folder", "link", "other"], describe("The type. For a link it is that of its target; `link` if there is none.")),
  size: Type.Number(describe("The size in bytes.")),
  modifiedAtMs: Type.Number(describe("The time of the last change, in Unix milliseconds.")),
  mode: Type.Integer(describe("The permission bits.")),
  owner: Type.String(describe("The user who owns it.")),
  group: Type.String(describe("The group that owns it.")),
  target: Type.Optional(Type.String(describe("Where a link leads to; absolute if that exists."))),
  attributes: Type.Optional(
    Type.Record(Type.String(), Type.String(), describe("The extended attributes that were asked for, without the prefix of their names.")),
  ),
});

export const FileTree = named("FileTree", {
  entries: Type.Array(FileDetails, describe("The entries in the order of their names, a folder before what is in it.")),
  truncated: Type.Boolean(describe("Whether there are more than 10,000.")),
});

const WatchedChange = named("WatchedChange", {
  type: Type.Enum(["create", "write", "remove", "rename", "chmod"], describe("What happened. `rename` names the old path.")),
  path: Type.String(describe("The path, relative to the watched folder.")),
});

export const WatchEvent = Type.Union(
  [Type.Object({ type: Type.Literal("start", describe("The first line: changes from now on are reported.")) }), WatchedChange],
  { $id: "WatchEvent" },
);

export const Watcher = named("Watcher", { id: Type.String(describe("The identifier of the watcher.")) });

export const WatcherEvents = named("WatcherEvents", {
  events: Type.Array(WatchedChange, describe("What has happened since the last call.")),
  overflow: Type.Boolean(describe("Whether older events were dropped.")),
});
