import type { Api } from "../connection/api.ts";

export async function originalOf(_api: Api, _path: string): Promise<string> {
  return "";
}
