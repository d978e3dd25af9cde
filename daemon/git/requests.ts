import type { IncomingMessage } from "node:http";
import type { CommitRequest, GitIdentity, GitRemote, SwitchBranch, SyncRequest } from "@berth/contract/git.ts";
import { parsePath } from "../files/workspace-folder.ts";
import { isStringArray, readJson, requiredText } from "../http/body.ts";
import { badRequest } from "../http/errors.ts";
import type { Repositories } from "./repositories.ts";

type Body = Record<string, unknown>;

// The bodies of requests. None of their texts can be an option of git.

// The body may be empty.
export async function readBody(request: IncomingMessage): Promise<Body> {
  return request.headers["content-length"] === "0" ||
    (request.headers["content-length"] ?? request.headers["transfer-encoding"]) === undefined
    ? {}
    : await readJson(request);
}

// The paths in the repository; null if the body names none.
export function pathsIn(body: Body, repository: string, repositories: Repositories): string[] | null {
  const { paths } = body;
  if (paths === undefined) return null;
  if (!isStringArray(paths) || paths.length === 0) throw badRequest("paths must be a list of paths");
  return paths.map((path) => {
    const found = repositories.locate(parsePath(path));
    if (found.repository !== repository) throw badRequest("All paths must be in the repository");
    return found.inner;
  });
}

export function switchOf({ branch, create, from }: Body): SwitchBranch {
  return { branch: word(branch, "branch"), create: create === true, ...(from === undefined ? {} : { from: word(from, "from") }) };
}

export function commitOf({ message, amend }: Body): CommitRequest {
  if (message === undefined && amend === true) return { amend };
  const text = requiredText(message, "message");
  if (text.trim() === "" || text.includes("\0")) throw badRequest("The message is empty");
  return { message: text, amend: amend === true };
}

export function syncOf({ reconcile }: Body): SyncRequest {
  if (reconcile === undefined) return {};
  if (reconcile !== "merge" && reconcile !== "rebase") throw badRequest("reconcile must be merge or rebase");
  return { reconcile };
}

export const identityOf = ({ name, email }: Body): GitIdentity => ({ name: word(name, "name"), email: word(email, "email") });

export function remoteOf({ name, url }: Body): GitRemote {
  if (!/^\w[\w.-]*$/.test(word(name, "name"))) throw badRequest("name must consist of letters, digits, dots and dashes");
  return { name: word(name, "name"), url: word(url, "url") };
}

function word(value: unknown, name: string): string {
  const text = requiredText(value, name).trim();
  if (text === "" || text.startsWith("-") || /\p{Cc}/u.test(text))
    throw badRequest(`${name} must be a single line that does not start with a dash`);
  return text;
}

export function numberIn(query: URLSearchParams, name: string, range: { min: number; max: number; fallback?: number }): number {
  const given = query.get(name);
  const value = given === null ? range.fallback : Number(given);
  if (value === undefined || !Number.isInteger(value) || value < range.min || value > range.max)
    throw badRequest(`${name} must be a whole number from ${range.min} to ${range.max}`);
  return value;
}
