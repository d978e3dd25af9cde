// A module with the declarations that a sample assumes, which exports the sample as a function.
export function moduleOf(sample: string): string {
  const isImport = (line: string) => line.startsWith("import ");
  const lines = sample.split("\n");
  const declaresBerth = sample.includes("const berth =");
  const declaresSession = /const session\b/.test(sample) && !sample.includes("for await (const session");
  return `${lines.filter(isImport).join("\n")}
    import type { Berth, Session } from "@berth/client";
    declare const process: { env: Record<string, string | undefined>; stdout: { write(text: string): void } };
    ${declaresBerth ? "" : "declare const berth: Berth;"}
    ${declaresSession ? "" : "declare const session: Session;"}
    declare const user: { id: string }, order: { id: string }, repository: string, csv: string, lastSeenId: string, request: Request;
    declare const response: { redirect(status: number, url: string): void };
    declare const keyId: string, token: string, task: string, approaches: string[], secret: string, rawBody: string;
    declare const headers: Record<string, string>, sessionId: string;
    declare function saveSecret(name: string, value: string): Promise<void>;
    declare function forget(id: string): void;
    declare function bill(user: string | undefined, seconds: number, cost: number | null): Promise<void>;
    declare function notify(id: string): Promise<void>;
    declare function handle(event: unknown): Promise<void>;
    export async function sample() {
      ${lines.filter((line) => !isImport(line)).join("\n")}
    }`;
}
