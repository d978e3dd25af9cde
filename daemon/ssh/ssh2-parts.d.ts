// The parts of ssh2 that serve connections. The whole package would bring its client and its agents into the bundle.
declare module "ssh2/lib/server.js" {
  import { Server } from "ssh2";
  export default Server;
}
declare module "ssh2/lib/keygen.js" {
  const keygen: { generateKeyPairSync(type: "ed25519"): { private: string; public: string } };
  export default keygen;
}
declare module "ssh2/lib/protocol/keyParser.js" {
  import type { ParsedKey } from "ssh2";
  const keyParser: { parseKey(text: Buffer): ParsedKey | Error };
  export default keyParser;
}
