import { execFile, execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { buildClient } from "../../client/build.ts";
import { startBerth } from "../support/berth.ts";
import { daemonRuntime } from "../support/runtime.ts";

// The package as partners install it: packed by npm, unpacked into a project of its own, outside this repository.
const root = join(import.meta.dirname, "../..");
const project = mkdtempSync(join(tmpdir(), "berth-package-"));
const installed = join(project, "node_modules/@berth/client");
const run = promisify(execFile);

beforeAll(() => {
  const [{ filename } = { filename: "" }] = JSON.parse(
    execFileSync("npm", ["pack", "--json", buildClient()], { cwd: project, encoding: "utf8" }),
  ) as { filename: string }[];
  mkdirSync(installed, { recursive: true });
  execFileSync("tar", ["xzf", join(project, filename), "--strip-components=1", "-C", installed]);
  writeFileSync(join(project, "package.json"), JSON.stringify({ type: "module" }));
}, 120_000);

afterAll(() => rmSync(project, { recursive: true, force: true }));

test("the installed package drives the service, on whatever Node the partner has", async () => {
  await daemonRuntime();
  await using server = await startBerth();
  writeFileSync(
    join(project, "use.js"),
    `import { createBerth, SessionNotFoundError } from "@berth/client";
     const berth = createBerth({ baseUrl: ${JSON.stringify(server.url)}, apiKey: ${JSON.stringify(server.key)} });
     const session = await berth.sessions.create({ externalUserId: "partner", autoStartAgent: false });
     await session.files.write("a.txt", "from outside");
     const { stdout } = await session.exec("cat a.txt");
     await session.destroy();
     const gone = await session.launchUrl().catch((error) => error instanceof SessionNotFoundError);
     console.log(JSON.stringify({ stdout, gone, node: process.versions.node }));`,
  );
  // The machine's own node as well as ours: the two differ where an older one is installed.
  for (const node of ["node", process.execPath]) {
    const { stdout } = await run(node, ["use.js"], { cwd: project });
    expect(JSON.parse(stdout)).toMatchObject({ stdout: "from outside", gone: true });
  }
}, 120_000);

test("every recipe of the README compiles against the package", async () => {
  const recipes = [...readFileSync(join(installed, "README.md"), "utf8").matchAll(/```ts\n([\s\S]*?)```/g)].map((match) => match[1] ?? "");
  expect(recipes.length).toBeGreaterThanOrEqual(10);
  recipes.forEach((recipe, at) => writeFileSync(join(project, `recipe-${at}.ts`), standAlone(recipe)));
  const strict = {
    module: "nodenext",
    target: "es2022",
    lib: ["es2024", "dom", "dom.asynciterable"],
    strict: true,
    noEmit: true,
    types: [],
  };
  writeFileSync(join(project, "tsconfig.json"), JSON.stringify({ compilerOptions: strict, include: ["recipe-*.ts"] }));
  const complaints = await run(process.execPath, [join(root, "node_modules/typescript-native/bin/tsc"), "-p", project]).then(
    () => "",
    (error: { stdout: string }) => error.stdout,
  );
  expect(complaints).toBe("");
}, 60_000);

// A recipe shows what matters; here is what it takes for granted.
function standAlone(recipe: string): string {
  const imports = recipe.split("\n").filter((line) => line.startsWith("import "));
  const body = recipe.split("\n").filter((line) => !line.startsWith("import "));
  const declaresBerth = recipe.includes("const berth =");
  const declaresSession = /const session\b/.test(recipe) && !recipe.includes("for await (const session");
  return `${imports.join("\n")}
    import type { Berth, Session } from "@berth/client";
    declare const process: { env: Record<string, string | undefined>; stdout: { write(text: string): void } };
    ${declaresBerth ? "" : "declare const berth: Berth;"}
    ${declaresSession ? "" : "declare const session: Session;"}
    declare const user: { id: string }, order: { id: string }, repository: string, csv: string, lastSeenId: string, request: Request;
    declare const response: { redirect(status: number, url: string): void };
    declare function forget(id: string): void;
    declare function notify(id: string): Promise<void>;
    declare function handle(event: unknown): Promise<void>;
    export async function recipe() {
      ${body.join("\n")}
    }`;
}
