import type { Source } from "@berth/contract";
import { readFileIfExists } from "@berth/server/bounded-io/read-small-file.ts";

export interface GitOptions {
  ref?: string;
  gitTokenFile?: string;
}

// The token is in a file, because other users of the machine see the arguments of a command.
export async function readGitSource(url: string, { ref, gitTokenFile }: GitOptions): Promise<NonNullable<Source["git"]>> {
  const source = { url, ...(ref !== undefined && { ref }) };
  if (gitTokenFile === undefined) return source;
  const token = (await readFileIfExists(gitTokenFile))?.trim();
  if (!token) throw new Error(`There is no token in ${gitTokenFile}.`);
  return { ...source, token };
}
