import { expect, test } from "vitest";
import type { WorkspaceSession } from "@berth/contract/workspace/workspace.ts";
import { workspacePage } from "./app-page.ts";

const session: WorkspaceSession = {
  visitor: { role: "editor", displayName: null },
  hasSupportVisit: false,
  sessionId: "ses_1",
  sandboxId: "sbx_1",
  status: "running",
  reason: null,
  generation: 1,
  partnerName: "Acme",
  settingsOwner: "user",
  embedOrigins: [],
  branding: { logo: null, accent: null, hideAgent: false, offerSsh: false },
  expiresAtMs: 1,
  idlePause: null,
  onTimeout: "pause",
  extendUntilMs: null,
  autoResume: false,
  source: null,
  isSettingUp: false,
  serverNowMs: 0,
  previewUrl: null,
};
const template = "<html><head><title>app</title></head><body></body></html>";

test("the page embeds the session, and no partner name can turn it into markup", () => {
  for (const partnerName of ["</script><script>alert(1)</script>", "<!--<script>", "$& $1 $`", "\u2028"]) {
    const { body } = workspacePage(template, { ...session, partnerName });
    const [, data = ""] = /<script type="application\/json" id="session">([^<]*)<\/script><\/head>/.exec(body) ?? [];
    expect(JSON.parse(data)).toEqual({ ...session, partnerName });
    expect(body.match(/<script/g)).toHaveLength(1);
  }
});

test("the page preloads the root folder only while the session is running", () => {
  expect(workspacePage(template, session).headers.link).toContain(
    "</workspace/sbx_1/api/files?details=names&path=>; rel=preload; as=fetch",
  );
  expect(workspacePage(template, { ...session, status: "paused" }).headers).toEqual({});
});
