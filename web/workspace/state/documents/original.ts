import { ApiError, type Api } from "../../connection/api.ts";
import { decodeText } from "./content.ts";

// A file's text as it was before it was changed; empty for a file that is new.
export async function originalOf(api: Api, path: string): Promise<string> {
  try {
    const response = await api.call(`api/changes/original?path=${encodeURIComponent(path)}`);
    return decodeText(new Uint8Array(await response.arrayBuffer())) ?? "";
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return "";
    throw error;
  }
}
