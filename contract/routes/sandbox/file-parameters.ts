import Type from "typebox";
import type { ErrorCode } from "../../errors.ts";
import { query } from "../route.ts";

// Parameters and errors of the routes that take the paths of files.

export const FILE_ERRORS = ["bad_request", "forbidden", "path_outside", "not_found"] as const satisfies ErrorCode[];

export const base = query(
  "base",
  "With `home`, paths are relative to the user's home, or absolute, anywhere in the sandbox. Otherwise they are relative to the workspace and stay in it.",
  Type.Enum(["workspace", "home"], { default: "workspace" }),
);

// Of routes whose folder may be anywhere in the sandbox.
export const folderOfBase = query("path", "The folder. Default: the base.", Type.String({ default: "" }));
