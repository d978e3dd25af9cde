import { createHash } from "node:crypto";
import { once } from "node:events";
import { existsSync, globSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import type { Run } from "./benchmark.ts";
import { runProgram } from "./run-program.ts";

const packagesFolder = join(import.meta.dirname, "../../node_modules");

// A registry of npm that offers the packages in our node_modules. It listens on an address of this machine that sandboxes reach
// through the egress proxy. Returns undefined if the machine has none but loopback.
export async function startRegistry({ resources }: Run): Promise<{ url: string; host: string } | undefined> {
  const address = Object.values(networkInterfaces())
    .flat()
    .find((candidate) => candidate && !candidate.internal && candidate.family === "IPv4")?.address;
  if (address === undefined) return undefined;
  const packages = createPackages();
  const server = createServer((request, response) => {
    const path = decodeURIComponent(request.url ?? "/").slice(1);
    const reply = async () => {
      const tarball = packages.tarball(path);
      if (tarball) return void response.end(await tarball);
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify(await packages.describe(path, `http://${host}`)));
    };
    reply().catch((error: unknown) => response.writeHead(500).end(String(error)));
  }).listen(0, address);
  await once(server, "listening");
  const host = `${address}:${(server.address() as AddressInfo).port}`;
  resources.defer(async () => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://${host}/`, host };
}

function createPackages() {
  // The keys are paths below the registry.
  const tarballs = new Map<string, Promise<Buffer>>();
  return {
    tarball: (path: string) => tarballs.get(path),
    // npm's first request: all versions of a package, with the address and the hash of each.
    async describe(name: string, base: string): Promise<object> {
      const versions: Record<string, object> = {};
      for (const folder of [name, ...globSync(`{*,@*/*}/node_modules/${name}`, { cwd: packagesFolder })]) {
        const file = join(packagesFolder, folder, "package.json");
        if (!existsSync(file)) continue;
        const description = JSON.parse(readFileSync(file, "utf8")) as { version: string };
        const path = `${name}/-/${description.version}.tgz`;
        const tarball = tarballs.get(path) ?? pack(join(packagesFolder, folder));
        tarballs.set(path, tarball);
        const integrity = `sha512-${createHash("sha512")
          .update(await tarball)
          .digest("base64")}`;
        versions[description.version] = { ...description, dist: { tarball: `${base}/${path}`, integrity } };
      }
      return { name, "dist-tags": { latest: Object.keys(versions)[0] }, versions };
    },
  };
}

async function pack(folder: string): Promise<Buffer> {
  const from = ["--directory", folder, "--exclude", "./node_modules", "--transform", "s,^\\.,package,"];
  const base64 = await runProgram("/bin/sh", ["-c", 'tar --create --gzip "$@" . | base64 --wrap=0', "sh", ...from]);
  return Buffer.from(base64, "base64");
}
