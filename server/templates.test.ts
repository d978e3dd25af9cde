import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Template } from "@berth/contract";
import { Value } from "typebox/value";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { KNOWN_AGENTS } from "./agents/catalogue.ts";
import { DEFAULT_TEMPLATE, loadTemplates, templateHash } from "./templates.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "berth-templates-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

const load = (text: string, name = "templates.yaml") => {
  writeFileSync(join(folder, name), text);
  return loadTemplates(join(folder, name));
};

describe("templates", () => {
  test("the default template is built in and valid", () => {
    const templates = loadTemplates(undefined);
    expect([...templates.keys()]).toEqual(["default"]);
    expect(Value.Check(Template, templates.get("default"))).toBe(true);
    expect(templates.get("default")).toMatchObject({ memoryMb: 2048, cpus: 1, pids: 512, tmpMb: 512, egress: { policy: "public" } });
  });

  test("a YAML or JSON file contains only the differences from the default template", () => {
    const templates = load("small:\n  memoryMb: 256\n  agent: null\ndefault:\n  cpus: 2\nplain:\n");
    expect(templates.get("small")).toMatchObject({ name: "small", memoryMb: 256, pids: 512, agent: null });
    expect(templates.get("default")).toMatchObject({ cpus: 2, memoryMb: 2048 });
    expect(templates.get("plain")).toMatchObject({ name: "plain", memoryMb: 2048 });
    for (const template of templates.values()) expect(Value.Check(Template, template)).toBe(true);
    expect(load('{"offline": {"egress": {"policy": "none"}}}', "t.json").get("offline")).toMatchObject({ egress: { policy: "none" } });
  });

  test("hosts may be names, wildcards and addresses, with or without a port", () => {
    const hosts = ["example.com", "*.example.org", "example.net:8000", "10.0.0.1", "[2001:db8::1]:443"];
    expect(load(`a:\n  egress: {policy: hosts, hosts: ${JSON.stringify(hosts)}}\n`).get("a")?.egress).toEqual({ policy: "hosts", hosts });
  });

  test("a template can change the limits of the server's model", () => {
    const model = load("a:\n  model: {tokenCap: 5, serverTools: true}\n").get("a")?.model;
    expect(model).toEqual({ tokenCap: 5, serverTools: true });
  });

  test("a language server needs only its command", () => {
    const { languageServers } = load("a:\n  languageServers: {python: {command: pylsp}}\n").get("a") ?? {};
    expect(languageServers).toEqual({ python: { command: "pylsp" } });
  });

  test("an agent needs only its command", () => {
    const agent = load("other:\n  agent: {command: /usr/bin/agent}\n").get("other")?.agent;
    expect(agent).toEqual({ command: "/usr/bin/agent", args: [], env: {}, requiredEnv: [] });
  });

  test("a known agent needs only its name and its differences", () => {
    const short = load("other:\n  agent: opencode\n").get("other");
    expect(short).toMatchObject({ agent: KNOWN_AGENTS.opencode, fallbackAgents: [] });
    const own = load("other:\n  agent: {command: /opt/goose, env: {GOOSE_MODE: approve}}\n").get("other")?.agent;
    const { goose } = KNOWN_AGENTS;
    expect(own).toEqual({ ...goose, command: "/opt/goose", env: { ...goose.env, GOOSE_MODE: "approve" } });
    const bare = load("other:\n  agent: {command: opencode, args: [acp, --verbose], requiredEnv: []}\n").get("other")?.agent;
    expect(bare).toMatchObject({ args: ["acp", "--verbose"], requiredEnv: [], env: KNOWN_AGENTS.opencode.env });
  });

  test("several agents are in order of preference, and the default template has two", () => {
    const several = load("other:\n  agent: [codex-acp, {command: opencode}, goose]\n").get("other");
    expect(several?.agent).toEqual({ command: "codex-acp", args: [], env: {}, requiredEnv: [] });
    expect(several?.fallbackAgents).toEqual([KNOWN_AGENTS.opencode, KNOWN_AGENTS.goose]);
    expect(Value.Check(Template, several)).toBe(true);
    for (const template of [loadTemplates(undefined).get("default"), load("plain: {cpus: 2}\n").get("plain")])
      expect(template).toMatchObject({ agent: KNOWN_AGENTS.goose, fallbackAgents: [KNOWN_AGENTS.opencode] });
    expect(load("none:\n  agent: null\n").get("none")).toMatchObject({ agent: null, fallbackAgents: [] });
  });

  test.each([
    ["a: [1", "line 1: "],
    ["- a\n- b\n", "line 1: a mapping"],
    ["a:\n  memoryMb: 12\n", "line 2: a.memoryMb must be"],
    ["a:\n  cpus: 1\nb:\n  pids: many\n", "line 4: b.pids must be"],
    ["a:\n  memory: 12\n", "line 2: a.memory is not a field"],
    ["a:\n  egress:\n    policy: some\n", "line 2: a.egress must be"],
    ["a:\n  egress: {policy: hosts, hosts: ['http://x']}\n", 'line 2: a.egress.hosts has "http://x"'],
    ["a:\n  root: relative\n", "line 2: a.root must be an absolute path"],
    ["a:\n  env:\n    BERTH_X: '1'\n", "line 3: a.env.BERTH_X is not a valid variable name"],
    ["a:\n  model: {provider: openai}\n", "line 2: a.model must name provider and apiKeyVariable together"],
    ["a:\n  model: {apiKeyVariable: KEY}\n", "line 2: a.model must name provider and apiKeyVariable together"],
    ["a:\n  model: {baseUrl: 'https://x.example'}\n", "line 2: a.model must name provider and apiKeyVariable together"],
    ["a:\n  model:\n    serverTools: 1\n", "line 3: a.model.serverTools must be"],
    ["a:\n  agent:\n    args: 5\n", "line 3: a.agent.args must be"],
    ["a:\n  agent: {}\n", "line 2: a.agent must name a command"],
    ["a:\n  agent: []\n", "line 2: a.agent must name a command"],
    ["a:\n  agent: 5\n", "line 2: a.agent must be"],
    ["a:\n  agent: [goose, {env: {}}]\n", "line 2: a.agent must name a command"],
    ["a:\n  languageServers:\n    cobol: {command: x}\n", "line 3: a.languageServers.cobol is not one of typescript, python"],
    ["a:\n  languageServers:\n    python: {args: []}\n", "line 3: a.languageServers.python must have"],
    ["a:\n  fallbackAgents: [goose]\n", "line 2: a.fallbackAgents is not a field"],
    ["A b:\n  cpus: 1\n", 'line 1: the template name "A b"'],
    ["a: 5\n", "line 1: a must be a mapping"],
    ["a:\n  cpus: 1\na:\n  cpus: 2\n", "line 3: "],
  ])("the error in %j is reported with file, line and field", (text, sentence) => {
    expect(() => load(text)).toThrow(`${join(folder, "templates.yaml")}, ${sentence}`);
  });

  test("a missing file is named", () => {
    expect(() => loadTemplates("/nowhere/t.yaml")).toThrow("BERTH_TEMPLATES: /nowhere/t.yaml cannot be read (ENOENT)");
  });

  test("the hash depends on the content, not on the order of the fields", () => {
    const shuffled = Object.fromEntries(Object.entries(DEFAULT_TEMPLATE).toReversed()) as Template;
    expect(templateHash(shuffled)).toBe(templateHash(DEFAULT_TEMPLATE));
    expect(templateHash({ ...DEFAULT_TEMPLATE, cpus: 2 })).not.toBe(templateHash(DEFAULT_TEMPLATE));
  });
});
