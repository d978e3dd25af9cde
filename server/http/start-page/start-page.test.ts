import { execFile } from "node:child_process";
import { request, type IncomingHttpHeaders } from "node:http";
import { text } from "node:stream/consumers";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { machine, testWith } from "../../../tests/support/machine.ts";
import { startTestApp, TEST_BASE_URL, type TestApp } from "../testing/test-app.ts";

interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  body: string;
}

const PAGE = { accept: "text/html,application/xhtml+xml,*/*;q=0.8" };

// `fetch` cannot set Host and Origin.
const send = ({ port }: TestApp, method: string, path: string, headers: Record<string, string> = {}, body = ""): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const outgoing = request({ host: "127.0.0.1", port, method, path, headers: { host: `localhost:${port}`, ...headers } }, (response) => {
      void text(response).then((read) => resolve({ status: response.statusCode!, headers: response.headers, body: read }), reject);
    });
    outgoing.on("error", reject).end(body);
  });

testWith([machine.root, machine.command("bash")], "another user of the machine cannot open a workspace", async () => {
  await using app = await startTestApp({ localPartner: "acme" });
  const head = `POST /open HTTP/1.1\\r\\nHost: localhost:${app.port}\\r\\nOrigin: http://localhost:${app.port}\\r\\nContent-Length: 0\\r\\n\\r\\n`;
  const script = `exec 3<>/dev/tcp/127.0.0.1/${app.port}; printf '${head}' >&3; read -r line <&3; echo "$line"`;
  const statusFor = async (uid: number) => (await promisify(execFile)("bash", ["-c", script], { uid, cwd: "/" })).stdout.trim();
  expect(await statusFor(65_534)).toBe("HTTP/1.1 403 Forbidden");
  expect(await statusFor(0)).toBe("HTTP/1.1 303 See Other");
});

describe("the page at /", () => {
  test("says what this is and whether it works, without scripts, and programs still get the JSON 404", async () => {
    await using app = await startTestApp();
    const { status, headers, body } = await send(app, "GET", "/", PAGE);
    expect([status, headers["content-type"]]).toEqual([200, "text/html; charset=utf-8"]);
    expect(headers["content-security-policy"]).toContain("default-src 'none'");
    expect(headers["content-security-policy"]).toContain("frame-ancestors 'none'");
    expect(body).toContain("Healthy");
    expect(body).toContain('href="/docs"');
    expect(body).not.toMatch(/<script|<form|style="|npx berth open/);
    expect((await send(app, "GET", "/start-page.css")).headers["content-type"]).toBe("text/css; charset=utf-8");
    for (const accept of [{ accept: "application/json" }, { accept: "*/*" }, {}] as Record<string, string>[])
      expect(await send(app, "GET", "/", accept)).toMatchObject({ status: 404, body: '{"error":"Not found"}' });
  });

  test("on this machine it opens a workspace with one click", async () => {
    await using app = await startTestApp({ localPartner: "acme" });
    const { body } = await send(app, "GET", "/", PAGE);
    expect(body).toMatch(/<form method="post" action="\/open">[^]*<option>default<\/option><option>python<\/option>[^]*Open a workspace/);
    const opened = await send(app, "POST", "/open", { origin: `http://localhost:${app.port}` }, "template=python");
    expect(opened.status).toBe(303);
    expect(opened.headers.location).toMatch(new RegExp(`^${TEST_BASE_URL}/workspace/\\?s=.+&partner=acme&ts=\\d+&sig=`));
    const { json } = await app.call("GET", "/api/b2b/sessions?expand=details");
    expect(json).toMatchObject({ data: [{ externalUserId: "me", template: "python", status: "running" }] });
    const refused = await send(app, "POST", "/open", { origin: `http://localhost:${app.port}` }, "template=none");
    expect([refused.status, refused.headers["content-type"]]).toEqual([400, "text/html; charset=utf-8"]);
  });

  test("no other site, name, proxy or machine can make it open one", async () => {
    await using app = await startTestApp({ localPartner: "acme" });
    const own = `http://localhost:${app.port}`;
    const forged: Record<string, string>[] = [
      {},
      { origin: "null" },
      { origin: "https://evil.example" },
      { origin: `http://3000-sbx_1.localhost:${app.port}` },
      { origin: `http://127.0.0.1:${app.port}` },
      { origin: own, "sec-fetch-site": "same-site" },
      { origin: own, "x-forwarded-for": "192.0.2.1" },
      { host: "evil.example", origin: "http://evil.example" },
      { host: `evil.localhost:${app.port}`, origin: `http://evil.localhost:${app.port}` },
    ];
    for (const headers of forged)
      expect(await send(app, "POST", "/open", headers)).toMatchObject({ status: 403, body: '{"error":"Forbidden"}' });
    expect((await app.call("GET", "/api/b2b/sessions")).json).toEqual({ data: [], nextCursor: null });
    const rebound = await send(app, "GET", "/", { ...PAGE, host: "evil.example" });
    expect(rebound.body).toContain("npx berth open");
    expect(rebound.body).not.toContain("<form");
  });

  test("never opens one on a server for others, or for a suspended partner", async () => {
    await using publicApp = await startTestApp();
    expect((await send(publicApp, "POST", "/open", { origin: `http://localhost:${publicApp.port}` })).status).toBe(403);
    await using app = await startTestApp({ localPartner: "nobody" });
    expect((await send(app, "POST", "/open", { origin: `http://localhost:${app.port}` })).status).toBe(403);
    expect((await send(app, "GET", "/", PAGE)).body).not.toContain("<form");
  });
});
