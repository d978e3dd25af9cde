import { globSync, readFileSync } from "node:fs";
import { dirname, join, sep } from "node:path";
import { expect, expectTypeOf, test } from "vitest";
import type * as contract from "@berth/contract";
import type * as agent from "@berth/contract/agent.ts";
import type * as daemon from "@berth/contract/daemon.ts";
import type * as processes from "@berth/contract/daemon/processes.ts";
import type * as questions from "@berth/contract/questions.ts";
import type * as own from "./types/api-types.ts";
import type * as asked from "./types/question-types.ts";
import type * as runs from "./types/run-types.ts";
import type * as sandbox from "./types/sandbox-types.ts";

test("the client's types match the contract", () => {
  expectTypeOf<own.SessionData>().toEqualTypeOf<contract.SessionRead>();
  expectTypeOf<contract.Session>().toExtend<own.SessionData>();
  expectTypeOf<own.CreateSession>().toEqualTypeOf<contract.CreateSession>();
  expectTypeOf<runs.StartRun>().toEqualTypeOf<contract.StartRun>();
  expectTypeOf<runs.RunStarted>().toEqualTypeOf<contract.RunStarted>();
  expectTypeOf<own.UpdateSession>().toEqualTypeOf<contract.UpdateSession>();
  expectTypeOf<own.IssueLaunchUrl>().toEqualTypeOf<contract.IssueLaunchUrl>();
  expectTypeOf<own.LaunchUrl>().toEqualTypeOf<contract.LaunchUrl>();
  expectTypeOf<own.Page<own.SessionData>>().toEqualTypeOf<contract.SessionList>();
  expectTypeOf<own.SnapshotData>().toEqualTypeOf<contract.Snapshot>();
  expectTypeOf<contract.ForkedSessions>().toExtend<own.ForkedSessions>();
  expectTypeOf<contract.SessionEvent>().toExtend<own.BerthEvent>();
  expectTypeOf<own.Webhook>().toEqualTypeOf<contract.Webhook>();
  expectTypeOf<own.CreateWebhook>().toEqualTypeOf<contract.CreateWebhook>();
  expectTypeOf<own.UpdateWebhook>().toEqualTypeOf<contract.UpdateWebhook>();
  expectTypeOf<own.Key>().toEqualTypeOf<contract.Key>();
  expectTypeOf<own.CreateKey>().toEqualTypeOf<contract.CreateKey>();
  expectTypeOf<own.RotateKey>().toEqualTypeOf<contract.RotateKey>();
  expectTypeOf<own.EgressHost>().toEqualTypeOf<contract.EgressHost>();
  expectTypeOf<own.Volume>().toEqualTypeOf<contract.Volume>();
  expectTypeOf<own.CreateVolume>().toEqualTypeOf<contract.CreateVolume>();
  expectTypeOf<own.UsageReport>().toEqualTypeOf<contract.UsageReport>();
  expectTypeOf<own.UsageGroup>().toEqualTypeOf<contract.UsageGroup>();
  expectTypeOf<own.Delivery>().toEqualTypeOf<contract.Delivery>();
  expectTypeOf<sandbox.ExecEvent>().toEqualTypeOf<Exclude<daemon.ExecEvent, { type: "error" }>>();
  expectTypeOf<Omit<sandbox.ExecOptions, "signal">>().toEqualTypeOf<Omit<daemon.ExecRequest, "command">>();
  expectTypeOf<sandbox.ProcessData>().toEqualTypeOf<processes.Process>();
  expectTypeOf<sandbox.ProcessEvent>().toEqualTypeOf<processes.ProcessEvent>();
  expectTypeOf<sandbox.ProcessOptions>().toEqualTypeOf<Omit<processes.StartProcess, "command" | "args">>();
  expectTypeOf<sandbox.FileEntry>().toEqualTypeOf<daemon.FileEntry>();
  expectTypeOf<sandbox.WrittenFile>().toEqualTypeOf<daemon.WrittenFile>();
  expectTypeOf<sandbox.AgentState>().toEqualTypeOf<daemon.AgentState>();
  expectTypeOf<agent.ConversationItem>().toExtend<sandbox.ConversationItem>();
  expectTypeOf<asked.QuestionAnswer>().toEqualTypeOf<questions.QuestionAnswer>();
  expectTypeOf<asked.FormField>().toEqualTypeOf<questions.FormField>();
  expectTypeOf<agent.Conversation>().toExtend<sandbox.Conversation>();
  expectTypeOf<Extract<agent.AgentMessage, { type: sandbox.AgentMessage["type"] }>>().toExtend<sandbox.AgentMessage>();
});

test("the package uses only what every runtime provides", () => {
  const folder = import.meta.dirname;
  const sources = globSync("**/*.ts", { cwd: folder, exclude: ["dist/**", "**/*.test.ts", "build.ts"] });
  expect(sources.length).toBeGreaterThan(10);
  for (const file of sources) {
    const text = readFileSync(join(folder, file), "utf8");
    const imports = [...text.matchAll(/from "([^"]+)"/g)].map((match) => match[1]);
    const inside = (name = "") => name.startsWith(".") && join(folder, dirname(file), name).startsWith(folder + sep);
    expect(imports.filter((name) => !inside(name))).toEqual([]);
    const code = text.replaceAll(/\/\/.*|"[^"\n]*"/g, "");
    expect(code).not.toMatch(/\b(Buffer|require|__dirname)\b|\bprocess\./);
  }
  const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Record<string, unknown>;
  expect(manifest).not.toHaveProperty("dependencies");
});
