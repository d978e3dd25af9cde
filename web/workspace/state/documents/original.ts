import { ApiError, type Api } from "../../connection/api.ts";
import { decodeText } from "../../text/encoding.ts";

// A file from before it was changed.
export type Original = { kind: "none" } | { kind: "text"; text: string } | { kind: "binary"; size: number };

export async function readOriginal(api: Api, path: string): Promise<Original> {
  try {
    const bytes = new Uint8Array(await (await api.call(api.originalPath(path))).arrayBuffer());
    const decoded = decodeText(bytes);
    return decoded === null ? { kind: "binary", size: bytes.byteLength } : { kind: "text", text: decoded.text };
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return { kind: "none" };
    throw error;
  }
}
