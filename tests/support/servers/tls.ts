import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { connect, type AddressInfo, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createServer } from "node:tls";

// A TLS proxy, as in front of Berth in production: it forwards the decrypted bytes to a local port. Its certificate is
// self-signed, so the browser of a test must ignore certificate errors.
export interface TlsFront extends AsyncDisposable {
  port: number;
  // Clients that trust the server need it.
  certificate: Buffer;
}

export async function openTlsFront(targetPort: () => number): Promise<TlsFront> {
  const sockets = new Set<Socket>();
  const made = makeCertificate();
  const server = createServer(made, (outer) => {
    const inner = connect(targetPort(), "127.0.0.1");
    for (const [one, other] of [
      [outer, inner],
      [inner, outer],
    ] as const) {
      sockets.add(one);
      one.pipe(other);
      one.on("error", () => other.destroy());
      one.on("close", () => {
        sockets.delete(one);
        other.destroy();
      });
    }
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  return {
    port: (server.address() as AddressInfo).port,
    certificate: made.cert,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((done) => server.close(done));
    },
  };
}

// Self-signed, so it is also the authority that a client has to trust.
export function makeCertificate(): { key: Buffer; cert: Buffer } {
  const folder = mkdtempSync(join(tmpdir(), "berth-tls-"));
  const [key, cert] = [join(folder, "key.pem"), join(folder, "cert.pem")];
  const kind = [
    "-newkey",
    "ec",
    "-pkeyopt",
    "ec_paramgen_curve:prime256v1",
    "-nodes",
    "-subj",
    "/CN=test",
    "-addext",
    "subjectAltName=IP:127.0.0.1",
  ];
  execFileSync("openssl", ["req", "-x509", "-days", "2", ...kind, "-keyout", key, "-out", cert], { stdio: "ignore" });
  const made = { key: readFileSync(key), cert: readFileSync(cert) };
  rmSync(folder, { recursive: true });
  return made;
}
