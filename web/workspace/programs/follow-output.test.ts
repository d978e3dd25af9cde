import { expect, test } from "vitest";
import { createApi } from "../connection/api.ts";
import { createConnections } from "../connection/connections.ts";
import { followOutput } from "./follow-output.ts";

const output = (id: string, data: string) => `id: ${id}\ndata: ${JSON.stringify({ type: "output", stream: "stdout", data })}\n\n`;
const END = `id: end\ndata: ${JSON.stringify({ type: "end", process: { status: "exited", exitCode: 3 } })}\n\n`;

// Answers the calls in turn, and resolves with what was seen when there is no more to come.
async function follow(responses: (Response | "offline")[]) {
  const resumedAfter: (string | null)[] = [];
  const seen: string[] = [];
  const connections = createConnections([]);
  const send = async (_url: unknown, init?: RequestInit) => {
    resumedAfter.push(new Headers(init?.headers).get("last-event-id"));
    const response = responses.shift()!;
    if (response === "offline") throw new TypeError("offline");
    return response;
  };
  const over = Promise.withResolvers<void>();
  using _following = followOutput({ api: createApi("/w/", { send: send as typeof fetch }), connections }, "proc_1", {
    write: async (text) => void seen.push(text),
    dropped: async (bytes) => void seen.push(`dropped ${bytes}`),
    ended: ({ exitCode }) => (seen.push(`exit ${exitCode}`), over.resolve()),
    gone: () => (seen.push("gone"), over.resolve()),
  });
  const hurry = setInterval(connections.retryNow, 1);
  await over.promise.finally(() => clearInterval(hurry));
  return { seen, resumedAfter };
}

test("output is followed over lost connections, each time after the last event that was shown", async () => {
  const cut = `${output("3", "one")}: still here\n\n${output("6", "two")}id: 9\nda`;
  const dropped = `id: 20\ndata: ${JSON.stringify({ type: "dropped", bytes: 14 })}\n\n`;
  const { seen, resumedAfter } = await follow([new Response(cut), "offline", new Response(dropped + output("25", "three") + END)]);
  expect(seen).toEqual(["one", "two", "dropped 14", "three", "exit 3"]);
  expect(resumedAfter).toEqual([null, "6", "6"]);
});

test("a process that the sandbox has forgotten is not asked for again", async () => {
  const { seen } = await follow([new Response(output("3", "one")), new Response("{}", { status: 404 })]);
  expect(seen).toEqual(["one", "gone"]);
});
