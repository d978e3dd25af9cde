import { expect, test } from "vitest";
import { findMcpFaults, joinMcpServers, toMcpRead, toStored } from "./mcp-servers.ts";
import { findFieldErrors } from "./template-fields.ts";

const URL = "https://mcp.example.com/mcp";

test("a server of the session replaces one of the template with the same name", () => {
  const own = toStored({ name: "jira", command: "jira-mcp", args: ["--stdio"] });
  const ofTemplate = [
    { name: "jira", url: URL, header: "X-Key", valueVariable: "JIRA_KEY" },
    { name: "wiki", url: `${URL}/wiki` },
  ];
  expect(joinMcpServers([own], ofTemplate)).toEqual([
    { name: "jira", command: "jira-mcp", args: ["--stdio"] },
    { name: "wiki", url: `${URL}/wiki` },
  ]);
});

test("partners see the host and not the address", () => {
  expect(toMcpRead(toStored({ name: "jira", url: `${URL}/team/7` }))).toEqual({ name: "jira", host: "mcp.example.com" });
});

test("every fault names its field", () => {
  const faultsOf = (server: object) =>
    findMcpFaults([
      { name: "first", url: URL },
      { name: "jira", ...server },
    ]).map(({ field }) => field);
  expect(faultsOf({ url: URL })).toEqual([]);
  expect(faultsOf({ command: "x" })).toEqual([]);
  expect(faultsOf({})).toEqual(["mcpServers.1.url"]);
  expect(faultsOf({ url: URL, command: "x" })).toEqual(["mcpServers.1.url"]);
  expect(faultsOf({ url: "https://mcp.example.com/a/../b" })).toEqual(["mcpServers.1.url"]);
  expect(faultsOf({ url: URL, args: [] })).toEqual(["mcpServers.1.args"]);
  expect(faultsOf({ command: "x", header: "X-Key", value: "y" })).toEqual(["mcpServers.1.header"]);
  expect(faultsOf({ url: URL, value: "y" })).toEqual(["mcpServers.1.value"]);
  expect(faultsOf({ url: URL, header: "Transfer-Encoding", value: "y" })).toEqual(["mcpServers.1.header"]);
  expect(faultsOf({ url: URL, name: "first" })).toEqual(["mcpServers.1.name"]);
});

test("a template names the variable with the value, and not the value", () => {
  const errorsOf = (server: object) =>
    findFieldErrors({ mcpServers: [{ name: "jira", url: URL, ...server }] }).map(({ at }) => at.join("."));
  expect(errorsOf({ header: "X-Key", valueVariable: "JIRA_KEY" })).toEqual([]);
  expect(errorsOf({ header: "X-Key" })).toEqual(["mcpServers.0.valueVariable"]);
  expect(errorsOf({ name: "a-b" })).toEqual(["mcpServers.0.name"]);
});
