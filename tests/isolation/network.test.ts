import { createServer as createHttpServer, type Server } from "node:http";
import { createServer, type AddressInfo, type Server as TcpServer } from "node:net";
import { networkInterfaces } from "node:os";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import type { EgressPolicy } from "@berth/contract";
import { openTlsFront, type TlsFront } from "../support/servers/tls.ts";
import { describeWith } from "../support/machine.ts";
import { openSandboxes, missing, type Sandboxes, type Sandbox } from "./sandboxes.ts";
import { SYSCALLS } from "./syscalls/syscalls.ts";

// Hostile code tries to reach the host's network, the server, its neighbours and private networks behind the egress proxy.
describeWith(missing, "the network of a sandbox", () => {
  let sandboxes: Sandboxes;
  let attacker: Sandbox;
  let closed: Sandbox;
  // Represents the server's port and other services of the host; `visits` must stay empty.
  let service: Server;
  let abstract: TcpServer;
  let allowed: Server;
  // The same with TLS.
  let front: TlsFront;
  let visits: string[];

  beforeAll(async () => {
    service = createHttpServer((request, response) => {
      visits.push(request.url ?? "");
      response.end("the host's own service");
    });
    allowed = createHttpServer((request, response) => {
      if (request.url === "/endless") return void response.write("begun\n");
      if (request.url === "/redirect") response.writeHead(302, { location: `http://127.0.0.1:${portOf(service)}/redirected` });
      response.end("allowed");
    });
    abstract = createServer(() => visits.push("abstract"));
    await Promise.all([
      new Promise<void>((resolve) => service.listen(0, "0.0.0.0", resolve)),
      new Promise<void>((resolve) => allowed.listen(0, "127.0.0.1", resolve)),
      new Promise<void>((resolve) => abstract.listen("\0berth-isolation-test", resolve)),
    ]);
    front = await openTlsFront(() => portOf(allowed));
    sandboxes = await openSandboxes({ allow: [`127.0.0.1:${portOf(allowed)}`, `localhost:${portOf(allowed)}`, `localhost:${front.port}`] });
    [attacker, closed] = await Promise.all([sandboxes.create(), sandboxes.create({ egress: { policy: "none" } })]);
  });
  beforeEach(() => {
    visits = [];
  });
  afterAll(async () => {
    await sandboxes?.[Symbol.asyncDispose]();
    await front?.[Symbol.asyncDispose]();
    for (const server of [service, allowed]) server?.closeAllConnections();
    for (const server of [service, allowed, abstract]) server?.close();
  });

  const curl = (sandbox: Sandbox, ...urls: string[]) =>
    sandbox.sh(urls.map((url) => `curl -sS -m 20 -o /dev/null -w '%{http_code} %{http_connect}\\n' '${url}' 2>&1 | tail -1`).join("; "));
  const hostAddresses = () =>
    Object.values(networkInterfaces())
      .flatMap((entries) => entries ?? [])
      .filter(({ internal }) => !internal)
      .map(({ address, family }) => (family === "IPv6" ? `[${address.split("%")[0]}]` : address));

  test("the only interface is the sandbox's own loopback", async () => {
    expect((await attacker.sh("tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '; cat /proc/net/route | wc -l")).output).toBe("lo\n1\n");
  });

  test("the host cannot be reached directly, on any of its addresses", async () => {
    const targets = ["127.0.0.1", "localhost", "[::1]", "0.0.0.0", "169.254.169.254", ...hostAddresses()];
    const { output } = await attacker.sh(
      targets.map((host) => `curl -s -m 2 --noproxy '*' http://${host}:${portOf(service)}/direct && echo reached`).join("; "),
    );
    expect(output).toBe("");
    expect(visits).toEqual([]);
  });

  test("abstract sockets of the host and sockets of neighbours cannot be reached", async () => {
    const { output } = await attacker.python(`${SYSCALLS}
def dial(path):
    with socket.socket(socket.AF_UNIX) as s: s.connect(path)
print(attempt(lambda: dial("\\0berth-isolation-test")))
for path in ("/var/run/docker.sock", "/run/docker.sock", "/run/containerd/containerd.sock", "/run/dbus/system_bus_socket", "${sandboxes.dataDir}/egress/${closed.id}/proxy.sock"):
    print(attempt(lambda: dial(path)))
print(sorted(os.listdir("/run")), os.listdir("/run/berth"), os.listdir("/run/berth-egress"))`);
    expect(output).toBe(`ECONNREFUSED\n${"ENOENT\n".repeat(5)}['berth', 'berth-egress'] ['daemon.sock'] ['proxy.sock']\n`);
    expect(visits).toEqual([]);
  });

  test("the proxy reaches addresses that the operator allows", async () => {
    expect((await attacker.sh(`curl -s -m 20 --noproxy '' http://127.0.0.1:${portOf(allowed)}/`)).output).toBe("allowed");
  });

  test("the proxy does not reach the host, in any notation of its address", async () => {
    const port = portOf(service);
    const hosts = [
      "127.0.0.1",
      "localhost",
      "localhost.",
      "127.1",
      "2130706433",
      "0x7f000001",
      "017700000001",
      "0.0.0.0",
      "[::1]",
      "[::]",
      "[::ffff:127.0.0.1]",
      "[::ffff:7f00:1]",
      "[64:ff9b::7f00:1]",
      "[2002:7f00:1::]",
      "[::127.0.0.1]",
      ...hostAddresses(),
    ];
    const { output } = await attacker.sh(
      hosts
        .flatMap((host) => ["", "-p "].map((tunnel) => `curl -s -m 3 --noproxy '' ${tunnel}'http://${host}:${port}/proxied'`))
        .join("; "),
    );
    expect(output).not.toContain("the host's own service");
    expect(visits).toEqual([]);
  });

  test("the proxy does not follow a redirect to the host", async () => {
    const { output } = await attacker.sh(`curl -s -m 20 -L --noproxy '' http://127.0.0.1:${portOf(allowed)}/redirect`);
    expect(output).toContain("berth: ");
    expect(visits).toEqual([]);
  });

  test("metadata services and private networks are refused", async () => {
    const urls = [
      "http://169.254.169.254/latest/meta-data/",
      "http://metadata.google.internal/",
      "http://[fd00:ec2::254]/",
      "http://100.100.100.200/",
      "http://10.0.0.1/",
      "http://192.168.0.1/",
    ];
    const { output } = await curl(attacker, ...urls, "https://169.254.169.254/", "https://10.0.0.1/");
    expect(output.trim().split("\n")).toEqual([...urls.map(() => "403 000"), "000 403", "000 403"]);
  });

  const reach = async (policy: EgressPolicy, closeConnections = false) =>
    sandboxes.egress.change(closed.id, { egress: policy }, { closeConnections });

  test("under a list of hosts, TLS is for the host of the tunnel and nothing else, and only while the policy allows it", async () => {
    const site = `localhost:${front.port}`;
    const commands = [
      `curl -sSk -m 20 --noproxy '' https://${site}/`,
      `curl -sSk -m 20 --connect-to other.example:443:${site} https://other.example/`,
      `echo | openssl s_client -proxy 127.0.0.1:3128 -connect ${site} -servername localhost 2>&1 | grep -c 'BEGIN CERTIFICATE'`,
      `echo | openssl s_client -proxy 127.0.0.1:3128 -connect ${site} -noservername 2>&1 | grep -o 'unrecognized name'`,
      `echo | openssl s_client -proxy 127.0.0.1:3128 -connect ${site} -servername other.example 2>&1 | grep -o 'unrecognized name'`,
      `curl -sSk -m 20 --noproxy '' https://127.0.0.1:${front.port}/ 2>&1 | grep -o 'response 403'`,
    ].map((command) => `{ ${command}; } 2>&1`);
    await reach({ policy: "hosts", hosts: [site] });
    const { output } = await closed.sh(commands.map((command) => `${command}; echo`).join("; "));
    const [own, other, ...rest] = output.split("\n").filter((line) => line !== "");
    expect(own).toBe("allowed");
    expect(other).toMatch(/unrecognized name/);
    expect(rest).toEqual(["1", "unrecognized name", "unrecognized name", "response 403"]);
    await reach({ policy: "none" });
    expect((await closed.sh(commands[0]!)).output).toContain("response 403");
  });

  test("a download goes on when the policy forbids it, and ends when its connection is closed", async () => {
    const endless = `localhost:${portOf(allowed)}`;
    await reach({ policy: "hosts", hosts: [{ host: endless, methods: ["GET"], paths: ["/endless"] }] });
    const begun = `curl -sSN -m 40 --noproxy '' http://${endless}/endless > begun 2> ended`;
    await closed.sh(`(${begun}; echo $? >> ended) > /dev/null 2>&1 & until test -s begun; do sleep 0.05; done`);
    await reach({ policy: "none" });
    expect((await closed.sh(`curl -sS --noproxy '' http://${endless}/endless; cat ended`)).output).toContain("no network access");
    await reach({ policy: "none" }, true);
    const { output } = await closed.sh("until test -s ended; do sleep 0.05; done; sleep 0.1; cat ended");
    // The transfer ended with data outstanding.
    expect(output).toMatch(/18\n$/);
  });

  test("a sandbox whose template disables egress has none", async () => {
    expect(
      (await curl(closed, `http://127.0.0.1:${portOf(allowed)}/`, "http://example.com/", "https://example.com/")).output
        .trim()
        .split("\n")
        .slice(1),
    ).toEqual(["403 000", "000 403"]);
    const raw = await closed.python(`
import socket
s = socket.socket(socket.AF_UNIX); s.connect("/run/berth-egress/proxy.sock")
s.sendall(b"CONNECT 127.0.0.1:${portOf(allowed)} HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n"); print(s.recv(20).decode())`);
    expect(raw.output).toContain("403");
  });

  test("malformed bytes on the proxy's socket do not affect other sandboxes", async () => {
    const { output } = await attacker.python(`
import os, socket, threading
def spew(data, times):
    s = socket.socket(socket.AF_UNIX); s.settimeout(3)
    try:
        s.connect("/run/berth-egress/proxy.sock")
        for _ in range(times): s.sendall(data)
        s.recv(100)
    except OSError: pass
for data, times in [(os.urandom(4096), 50), (b"GET " + b"/" * 65536, 20), (b"CONNECT a:1 HTTP/1.1\\r\\n" + b"X: y\\r\\n" * 5000, 5), (b"GET http://a/ HTTP/1.1\\r\\nContent-Length: 5\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n0\\r\\n\\r\\n", 1)]:
    spew(data, times)
held = []
for _ in range(600):
    s = socket.socket(socket.AF_UNIX)
    try: s.connect("/run/berth-egress/proxy.sock"); held.append(s)
    except OSError: break
print("done")`);
    expect(output).toBe("done\n");
    expect((await closed.sh("curl -s -m 20 http://example.com/")).output).toBe("berth: this sandbox has no network access\n");
  });
});

const portOf = (server: Server | TcpServer) => (server.address() as AddressInfo).port;
