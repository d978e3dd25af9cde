import { RelayRefusal } from "./relay-refusal.ts";
import type { RelayTarget } from "./relay-target.ts";

// The smart HTTP protocol of git: a listing of refs, then one request per direction. Nothing else of the server is relayed.
const PATH = /^\/repository(?<suffix>\.git)?\/(?<service>info\/refs|git-upload-pack|git-receive-pack)(?<query>\?.*)?$/;
const QUERIES = new Set(["?service=git-upload-pack", "?service=git-receive-pack"]);

const PASSED_HEADERS = new Set(
  "accept accept-encoding accept-language content-type content-encoding content-length git-protocol user-agent pragma".split(" "),
);

// The address in the session's repository that a request of git names. Throws if it names anything else.
export function gitTarget(repository: string, method: string | undefined, rest: string): RelayTarget {
  const { suffix = "", service = "", query = "" } = PATH.exec(rest)?.groups ?? {};
  const isListing = service === "info/refs";
  if (service === "" || method !== (isListing ? "GET" : "POST") || (isListing ? !QUERIES.has(query) : query !== ""))
    throw new RelayRefusal(403, "The token of this session is only for its own repository.");
  const url = new URL(`${repository.replace(/\/+$/, "")}${suffix}/${service}${query}`);
  return { method, url, passedHeaders: PASSED_HEADERS };
}
