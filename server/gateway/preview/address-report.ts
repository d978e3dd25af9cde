import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import { PREVIEW_ADDRESS_MESSAGE } from "@berth/contract/workspace/workspace.ts";
import { headerOf } from "../requests/request-parts.ts";

// The workspace cannot read the address of a preview in its frame, because the preview has another origin. So a script in the
// preview's pages reports it (docs/decisions/0028-previews-report-their-address.md).

export const SCRIPT_PATH = "/.berth/address.js";

// Whether a request loads a page into a frame.
export const isFramedPage = (request: IncomingMessage): boolean =>
  request.method === "GET" && headerOf(request, "sec-fetch-dest") === "iframe";

// The text that is appended to such a page. null if the response is not HTML or cannot be extended.
export function scriptTagFor(headers: IncomingHttpHeaders): string | null {
  const type = headers["content-type"] ?? "";
  const isExtendable = /^text\/html\b/i.test(type) && !/charset="?utf-?16/i.test(type) && headers["content-encoding"] === undefined;
  return isExtendable ? `<script src="${SCRIPT_PATH}"></script>` : null;
}

// A page may have frames of its own, whose parent is not the workspace. Browsers complain about a message to another origin.
export function sendScript(response: ServerResponse, appOrigin: string): void {
  const body = `(() => {
  const app = ${JSON.stringify(appOrigin)};
  if (location.ancestorOrigins && location.ancestorOrigins[0] !== app) return;
  const report = () => {
    const path = location.pathname + location.search + location.hash;
    parent.postMessage({ type: ${JSON.stringify(PREVIEW_ADDRESS_MESSAGE)}, path }, app);
  };
  if (self.navigation) navigation.addEventListener("currententrychange", report);
  for (const change of ["popstate", "hashchange", "pageshow"]) addEventListener(change, report);
  report();
})();
`;
  response.writeHead(200, {
    "content-type": "text/javascript; charset=utf-8",
    "content-length": Buffer.byteLength(body),
    "cache-control": "max-age=3600",
    "x-content-type-options": "nosniff",
  });
  response.end(body);
}
