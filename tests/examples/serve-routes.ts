// Serves the route handlers of examples/next-app without Next.js, for the short form of its test: a file app/{path}/route.ts exports
// functions that are named after methods. `npm run examples:next` runs the whole app.
import { globSync } from "node:fs";
import { createServer } from "node:http";
import { dirname, join } from "node:path";
import { buffer } from "node:stream/consumers";

type Handler = (request: Request) => Response | Promise<Response>;

const folder = join(import.meta.dirname, "../../examples/next-app/app");
const routes = new Map<string, Record<string, Handler>>();
for (const file of globSync("**/route.ts", { cwd: folder })) routes.set(`/${dirname(file)}`, await import(join(folder, file)));

const port = Number(process.env["PORT"]);
createServer((request, response) => {
  void (async () => {
    const { method = "GET", url = "/" } = request;
    const body = method === "GET" ? undefined : new Uint8Array(await buffer(request));
    const headers = Object.entries(request.headersDistinct).flatMap(([name, values]) =>
      values!.map((value): [string, string] => [name, value]),
    );
    const handler = routes.get(url.split("?")[0]!)?.[method];
    const answer = handler
      ? await handler(new Request(`http://localhost:${port}${url}`, { method, headers, body }))
      : new Response(null, { status: 404 });
    response.writeHead(answer.status, [...answer.headers].flat()).end(Buffer.from(await answer.arrayBuffer()));
  })().catch((error: unknown) => {
    console.error(error);
    response.writeHead(500).end();
  });
}).listen(port, () => console.log(`serves ${[...routes.keys()].join(" ")}`));
