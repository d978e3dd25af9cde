import { readFile } from "node:fs/promises";
import { join } from "node:path";

// The program of the scripted agent. A template starts it with `node` from a file of the workspace.
export const readScriptedAgent = (): Promise<string> => readFile(join(import.meta.dirname, "scripted-agent.mjs"), "utf8");
