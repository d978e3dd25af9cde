import { execFileSync } from "node:child_process";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { appendFileSync, cpSync, mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:https";
import { join } from "node:path";
import { ROOTS_DIR } from "../../../server/drivers/oci/probe.ts";
import { openTlsFront } from "../../support/servers/tls.ts";

// The hosts that E2B's suite visits, and the domain of the sandboxes' web servers, on a network without a way out. The addresses are
// public ones, so that Berth's egress proxy treats them as it treats the Internet. Needs root: it changes the network and the mounts of
// this process, which must have its own (`unshare --net --mount`).

export const SANDBOX_DOMAIN = "sandboxes.test";
// How the tests recognise each host.
const HOSTS = [
  { address: "1.1.1.1", status: 301 },
  { address: "8.8.8.8", status: 302 },
  { address: "9.9.9.9", status: 204, name: "connectivitycheck.gstatic.com" },
];

const CERTIFICATES = "/etc/ssl/certs";

export interface ClosedInternet {
  // For clients that do not use the system's certificates.
  certificateFile: string;
}

// `folder` is for the files that replace the machine's. `berthPort` is asked when a web server of a sandbox is visited.
export async function openClosedInternet(folder: string, berthPort: () => number): Promise<ClosedInternet> {
  const names = HOSTS.flatMap(({ address, name }) => [`IP:${address}`, ...(name ? [`DNS:${name}`] : [])]);
  run("ip", ["link", "set", "lo", "up"]);
  // Without being an address of an interface, which the egress proxy refuses.
  for (const { address } of HOSTS) run("ip", ["route", "add", "local", `${address}/32`, "dev", "lo"]);
  const front = await openTlsFront(berthPort, { port: 443, names: [...names, `DNS:*.${SANDBOX_DOMAIN}`] });
  for (const { address, status } of HOSTS) {
    const server = createServer({ key: front.key, cert: front.certificate }, (_request, response) =>
      response.writeHead(status, { location: "https://localhost/" }).end(),
    );
    await once(server.listen(443, address), "listening");
  }
  await answerNames();
  const certificateFile = join(folder, "certificate.pem");
  writeFileSync(certificateFile, front.certificate);
  const certificates = join(folder, "certs");
  cpSync(CERTIFICATES, certificates, { recursive: true, verbatimSymlinks: true });
  appendFileSync(join(certificates, "ca-certificates.crt"), front.certificate);
  writeFileSync(join(folder, "resolv.conf"), "nameserver 127.0.0.1\n");
  run("mount", ["--bind", certificates, CERTIFICATES]);
  // The driver copies the certificates into a folder that all servers of the machine share.
  mkdirSync(ROOTS_DIR, { recursive: true });
  run("mount", ["-t", "tmpfs", "-o", "mode=755", "tmpfs", ROOTS_DIR]);
  run("mount", ["--bind", join(folder, "resolv.conf"), "/etc/resolv.conf"]);
  return { certificateFile };
}

const run = (command: string, args: string[]) => execFileSync(command, args, { stdio: ["ignore", "ignore", "inherit"] });

// A name server with IPv4 addresses only.
async function answerNames(): Promise<void> {
  const socket = createSocket("udp4");
  socket.on("message", (query, { port, address }) => {
    const labels = readLabels(query);
    const questionEnd = 12 + labels.reduce((length, label) => length + label.length + 1, 1) + 4;
    const found = addressOf(labels.join(".").toLowerCase());
    const isIpv4 = query.readUInt16BE(questionEnd - 4) === 1;
    const head = Buffer.from(query.subarray(0, 12));
    head.writeUInt16BE(found === null ? 0x8183 : 0x8180, 2);
    head.writeUInt16BE(found !== null && isIpv4 ? 1 : 0, 6);
    head.fill(0, 8);
    const answer = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, ...(found ?? "").split(".").map(Number)]);
    socket.send([head, query.subarray(12, questionEnd), ...(found !== null && isIpv4 ? [answer] : [])], port, address);
  });
  socket.bind(53, "127.0.0.1");
  await once(socket, "listening");
}

function readLabels(query: Buffer): string[] {
  const labels: string[] = [];
  for (let at = 12; query[at] !== 0 && at < query.length; at += query[at]! + 1)
    labels.push(query.toString("latin1", at + 1, at + 1 + query[at]!));
  return labels;
}

function addressOf(name: string): string | null {
  if (name.endsWith(`.${SANDBOX_DOMAIN}`)) return "127.0.0.1";
  return HOSTS.find((host) => host.name === name)?.address ?? null;
}
