import type { Config } from "@berth/server/config/config.ts";
import { loadTemplates, type Templates } from "@berth/server/templates.ts";

// The built-in template if the file is faulty: a command that needs only the limits must not fail because of it.
export function readTemplates({ templatesFile }: Config): Templates {
  try {
    return loadTemplates(templatesFile ?? undefined);
  } catch {
    return loadTemplates(undefined);
  }
}
