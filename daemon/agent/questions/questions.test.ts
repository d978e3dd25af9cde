import { afterAll, beforeAll, expect, test } from "vitest";
import type { DaemonActivity } from "@berth/contract/daemon-internal.ts";
import { startScripted } from "../../testing/scripted-agent.ts";
import { startTestDaemon, type TestDaemon } from "../../testing/test-daemon.ts";

let daemon: TestDaemon;
beforeAll(async () => void (daemon = await startTestDaemon()));
afterAll(() => daemon?.[Symbol.asyncDispose]());

test("an agent asks a person to fill in a form, checks the answer, and ends the question with the turn", async () => {
  const { panel, prompt, said, conversationId } = await startScripted(daemon);
  const properties = `{
    name: { type: "string", title: "Your\\u202e name\\u0007", minLength: 2, pattern: "^[a-z]+$" },
    many: { type: "string", pattern: "^(a+)+$" },
    age: { type: "integer", minimum: 18 },
    agree: { type: "boolean", default: true },
    colour: { type: "string", oneOf: [{ const: "r", title: "Red" }, { const: "g", title: "Green" }] },
    sizes: { type: "array", items: { type: "string", enum: ["S", "M"] }, minItems: 1 },
  }`;
  const form = `/elicit { mode: "form", message: "Who are\\u0000 you?", requestedSchema: { type: "object", required: ["name"], properties: ${properties} } }`;
  const asked = () => panel.sees("form", ({ outcome }) => outcome === null);
  await prompt(form);
  const { id: itemId, title, fields } = await asked();
  expect([title, fields.map(({ label, type }) => `${label}: ${type}`)]).toEqual([
    "Who are you?",
    ["Your name: text", "many: text", "age: integer", "agree: boolean", "colour: choice", "sizes: choices"],
  ]);
  const answer = (values: object) =>
    daemon.fetch("/agent/answer", { method: "POST", body: { conversationId: conversationId(), itemId, action: "accept", values } });
  const idleMs = async () => (await daemon.fetch<DaemonActivity>("/internal/activity")).json.agentIdleMs;
  await expect.poll(idleMs).toBeGreaterThan(0);
  for (const [values, fault] of [
    [{}, "“Your name” is required"],
    [{ name: "a" }, "“Your name” must have at least 2 characters"],
    [{ name: "Ada" }, "“Your name” does not have the form that the agent asks for"],
    [{ name: "ada", age: 1.5 }, "“age” must be a whole number"],
    [{ name: "ada", age: 17 }, "“age” must be at least 18"],
    [{ name: "ada", agree: "yes" }, "“agree” must be yes or no"],
    [{ name: "ada", colour: "blue" }, "“colour” must be one of the choices"],
    [{ name: "ada", sizes: ["M", "M"] }, "“sizes” must be some of the choices"],
  ] as const) {
    const refused = await answer(values);
    expect([refused.status, refused.json.error]).toEqual([400, fault]);
  }
  // A pattern that takes years is left to the agent.
  const values = { name: "ada", many: `${"a".repeat(40)}!`, age: 36, agree: false, colour: "g", sizes: ["M"] };
  expect((await answer({ ...values, extra: 1 })).status).toBe(204);
  await said(`The answer is ${JSON.stringify({ action: "accept", content: values })}.`);
  expect((await answer(values)).json.code).toBe("agent_answered");

  await prompt(form);
  panel.send({ type: "answer", conversationId: conversationId(), itemId: (await asked()).id, action: "decline" });
  await said('The answer is {"action":"decline"}.');
  await prompt(form);
  await asked();
  panel.send({ type: "cancel", conversationId: conversationId() });
  await panel.sees("form", ({ outcome }) => outcome?.type === "cancelled");
  await panel.turnEnds();
  await panel.close();
});

test("an agent asks a person to open an address, until the agent says that it is done", async () => {
  const { panel, prompt, said, conversationId } = await startScripted(daemon);
  await prompt(`/elicit { mode: "url", elicitationId: "e1", message: "Sign in", url: "https://Login.example/a\\tb?next=\\u202e" }`);
  const { id: itemId, url } = await panel.sees("url");
  expect(url).toBe("https://login.example/ab?next=%E2%80%AE");
  panel.send({ type: "answer", conversationId: conversationId(), itemId, action: "accept" });
  await said('The answer is {"action":"accept"}.');
  expect((await panel.sees("url")).outcome).toEqual({ type: "accepted" });
  await prompt(`/send { method: "elicitation/complete", params: { elicitationId: "e1" } }`);
  await panel.sees("url", ({ outcome }) => outcome?.type === "completed");
  await panel.turnEnds();
  await panel.close();
});

test("questions of a hostile agent are refused with a reason, and it goes on", async () => {
  const { panel, prompt, said, conversationId } = await startScripted(daemon);
  const form = (properties: string, message = '"Hm?"') =>
    `{ mode: "form", message: ${message}, requestedSchema: { type: "object", properties: ${properties} } }`;
  const url = (address: string) => `{ mode: "url", elicitationId: "e", message: "Look", url: ${JSON.stringify(address)} }`;
  const address = "An address must be http or https, without a name or a password, and at most 2048 characters long";
  for (const [params, reason] of [
    [
      form(`Object.fromEntries(Array.from({ length: 10000 }, (_, at) => ["f" + at, { type: "string" }]))`),
      "The form has 10000 fields, and at most 50 can be shown",
    ],
    [form(`{ a: { type: "object", properties: {} } }`), 'The field "a" has a type that cannot be shown'],
    [
      form(`{ a: { type: "array", items: { type: "string", enum: [] } } }`),
      'The field "a" must have 1 to 200 choices of at most 200 characters',
    ],
    [`{ mode: "hologram", message: "Look" }`, "Only forms and addresses can be shown"],
    [url("javascript:alert(1)"), address],
    [url("data:text/html,x"), address],
    [url("https://bank.example@evil.example/"), address],
    [url(`https://a.example/${"a".repeat(3000)}`), address],
  ] as const) {
    await prompt(`/elicit ${params}`);
    await said(`The answer is ${JSON.stringify({ code: -32602, message: `Invalid params: ${reason}` })}.`);
    await panel.sees("notice", ({ text }) => text === `The agent asked a question that cannot be shown here. ${reason}.`);
  }
  // Malformed requests, and those for sessions that do not exist.
  await prompt(`/elicit { mode: "form", message: 7 }`);
  await panel.sees("assistant", ({ text }) => text.includes("-32602") && text.includes("message"));
  await prompt(`/elicit { ...${form("{}")}, sessionId: "nowhere" }`);
  await said('The answer is {"action":"cancel"}.');
  await prompt(`/elicit ${form("{}", `"long ".repeat(2000000)`)}`);
  expect((await panel.sees("form")).title.length).toBeLessThan(4100);
  await panel.close();

  // No one can answer after a restart of the daemon.
  await daemon.stop();
  await daemon.restart();
  const { items } = (await daemon.fetch(`/agent/conversations/${conversationId()}`)).json;
  expect(items.findLast(({ kind }) => kind === "form")).toMatchObject({ outcome: { type: "cancelled" } });
});
