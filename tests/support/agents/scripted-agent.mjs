// An agent without a model, for capabilities that the real ones lack. Arguments name the methods that it offers besides the usual ones:
// resume, load, list, close, delete. With one of them it keeps its sessions in a file, and writes its calls to another. With signed-out it
// first needs a sign-in, for which it has to be started once more with the argument sign-in. It speaks the Agent Client Protocol over standard input and
// output, and needs nothing but Node. The command /plan makes and follows a plan, /edit changes the first and the last line of a file,
// /overwrite replaces a file and reports it as a new one, and /ask asks for permission, both like goose, /run runs a command and waits
// for it, /model asks the model at OPENAI_BASE_URL like goose, /elicit sends an elicitation with the parameters that a JavaScript
// expression gives, /send a notification, /options says which options are set, and any other prompt is repeated, together with the mode, the model and the kinds of its parts.
import { spawn } from "node:child_process";
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { runInNewContext } from "node:vm";

const MODES = [
  { id: "ask", name: "Ask first" },
  { id: "code", name: "Write code" },
];
const MODELS = [
  { value: "small", name: "Small model" },
  { value: "large", name: "Large model" },
];
const STEPS = ["Read the code", "Change the code", "Run the tests"];
const OPTIONS = [
  {
    id: "effort",
    name: "Effort",
    type: "select",
    category: "thought_level",
    options: ["low", "high"].map((value) => ({ value, name: value })),
  },
  { id: "web", name: "Search the web", description: "Also for news", type: "boolean" },
];
const offers = process.argv.slice(2);
const AUTH_METHODS = [
  { id: "login", name: "Log in", description: "With a code", type: "terminal", args: ["sign-in"], env: { SIGN_IN_CODE: "1234" } },
  { id: "key", name: "Use a key", type: "env_var", vars: [{ name: "SCRIPTED_KEY" }, { name: "not a name" }] },
  { id: "odd", name: "Odd", type: "terminal", args: ["\0"] },
  { id: "browser", name: "Use a browser" },
];
mkdirSync(homedir(), { recursive: true });
const [FILE, CALLS, SIGNED_IN] = ["scripted-sessions.json", "scripted-calls", "scripted-signed-in"].map((name) => join(homedir(), name));
const sessions = new Map(offers.length > 0 && existsSync(FILE) ? JSON.parse(readFileSync(FILE, "utf8")) : []);
// Ids of sessions that it does not keep do not come again.
const SESSION = offers.length > 0 ? "session" : `session-${process.pid}`;
const keep = () => offers.length > 0 && writeFileSync(FILE, JSON.stringify([...sessions]));

const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
const update = (sessionId, fields) => send({ method: "session/update", params: { sessionId, update: fields } });
const configOptions = (session) => [
  { id: "model", name: "Model", category: "model", type: "select", currentValue: session.model, options: MODELS },
  ...OPTIONS.map((option) => ({ ...option, currentValue: session[option.id] })),
];
const offered = (session) => ({ modes: { currentModeId: session.mode, availableModes: MODES }, configOptions: configOptions(session) });
const defaults = { mode: "ask", model: "small", effort: "low", web: false };
// A session of an earlier process, which remembers what was said and not what was chosen.
const reopen = (sessionId) => Object.assign(sessions.get(sessionId), defaults);

const methods = {
  initialize: () => ({
    protocolVersion: 1,
    agentInfo: { name: "scripted", version: "1.0.0" },
    agentCapabilities: {
      loadSession: offers.includes("load"),
      promptCapabilities: { image: true, embeddedContext: true },
      sessionCapabilities: Object.fromEntries(offers.map((name) => [name, {}])),
    },
    authMethods: offers.includes("signed-out") ? AUTH_METHODS : [],
  }),
  "session/new"({ cwd }) {
    if (offers.includes("signed-out") && !existsSync(SIGNED_IN)) throw { code: -32000, message: "Authentication required" };
    const sessionId = `${SESSION}-${sessions.size + 1}`;
    const session = { ...defaults, cwd, said: [] };
    sessions.set(sessionId, session);
    keep();
    const availableCommands = [
      { name: "plan", description: "Make a plan and follow it", input: { hint: "the goal" } },
      { name: "edit", description: "Change a file", input: { hint: "path" } },
      { name: "ask", description: "Ask for permission", input: { hint: "command" } },
      { name: "model", description: "Ask the model", input: { hint: "path" } },
      { name: "run", description: "Run a command", input: { hint: "command" } },
    ];
    setImmediate(() => update(sessionId, { sessionUpdate: "available_commands_update", availableCommands }));
    return { sessionId, ...offered(session) };
  },
  "session/resume": ({ sessionId }) => offered(reopen(sessionId)),
  "session/load"({ sessionId }) {
    for (const text of sessions.get(sessionId).said) {
      update(sessionId, { sessionUpdate: "user_message_chunk", content: { type: "text", text } });
      say(sessionId, `${text}, repeated`);
    }
    return offered(reopen(sessionId));
  },
  "session/list": ({ cwd }) => ({
    sessions: [...sessions].map(([sessionId, { said }]) => ({ sessionId, cwd, title: said[0], updatedAt: "2026-01-02T03:04:05Z" })),
  }),
  "session/close": () => ({}),
  "session/delete"({ sessionId }) {
    sessions.delete(sessionId);
    keep();
    return {};
  },
  "session/set_mode"({ sessionId, modeId }) {
    sessions.get(sessionId).mode = modeId;
    return {};
  },
  "session/set_config_option"({ sessionId, configId, value }) {
    sessions.get(sessionId)[configId] = value;
    return { configOptions: configOptions(sessions.get(sessionId)) };
  },
  "session/prompt"({ sessionId, prompt }) {
    const { mode, model, effort, web } = sessions.get(sessionId);
    const [{ text }] = prompt;
    sessions.get(sessionId).said.push(text);
    keep();
    if (text.startsWith("/ask ")) return askPermission(sessionId, text.slice("/ask ".length));
    if (text.startsWith("/model ")) return askModel(sessionId, text.slice("/model ".length));
    if (text.startsWith("/elicit ")) return elicit(sessionId, evaluate(text, sessionId));
    if (text.startsWith("/send ")) {
      send(evaluate(text, sessionId));
      say(sessionId, "Sent.");
      return { stopReason: "end_turn" };
    }
    if (text.startsWith("/run ")) return run(sessionId, text.slice("/run ".length));
    if (text === "/options") say(sessionId, `Effort ${effort}, web ${web}`);
    else if (text.startsWith("/plan")) followPlan(sessionId);
    else if (text.startsWith("/edit")) edit(sessionId, resolve(text.split(" ")[1]));
    else if (text.startsWith("/overwrite")) overwrite(sessionId, resolve(text.split(" ")[1]));
    else say(sessionId, `${text} (mode ${mode}, model ${model}, parts ${prompt.map(({ type }) => type).join(" ")})`);
    return { stopReason: "end_turn" };
  },
};

function say(sessionId, text) {
  update(sessionId, { sessionUpdate: "agent_message_chunk", content: { type: "text", text } });
}

// The last step stays in progress.
function followPlan(sessionId) {
  for (let done = 0; done < STEPS.length; done++) {
    const status = (index) => (index < done ? "completed" : index === done ? "in_progress" : "pending");
    const entries = STEPS.map((content, index) => ({ content, priority: "medium", status: status(index) }));
    update(sessionId, { sessionUpdate: "plan", entries });
  }
  say(sessionId, "The tests are running.");
}

function edit(sessionId, path) {
  const oldText = readFileSync(path, "utf8");
  const newText = oldText.replace(/^.*/, "the first line").replace(/.*\n$/, "the last line\n");
  update(sessionId, { sessionUpdate: "tool_call", toolCallId: "edit-1", title: "Edit", kind: "edit", status: "in_progress" });
  writeFileSync(path, newText);
  const content = [{ type: "diff", path, oldText, newText }];
  update(sessionId, { sessionUpdate: "tool_call_update", toolCallId: "edit-1", status: "completed", content });
  say(sessionId, "I have changed two lines.");
}

function overwrite(sessionId, path) {
  update(sessionId, { sessionUpdate: "tool_call", toolCallId: "write-1", title: "write", kind: "edit", status: "in_progress" });
  writeFileSync(path, "all new\n");
  const content = [{ type: "diff", path, oldText: null, newText: "something else\n" }];
  update(sessionId, { sessionUpdate: "tool_call_update", toolCallId: "write-1", status: "completed", content });
}

// Like goose, runs the command in the agent's own process group, and a cancel kills only the shell.
function run(sessionId, command) {
  const shell = spawn("bash", ["-c", command], { stdio: "ignore", env: { ...process.env, AGENT_SESSION_ID: sessionId } });
  const session = sessions.get(sessionId);
  return new Promise((settle) => {
    session.cancel = () => {
      shell.kill("SIGKILL");
      settle({ stopReason: "cancelled" });
    };
    shell.once("exit", () => settle({ stopReason: "end_turn" }));
  });
}

const questions = new Map();

async function askPermission(sessionId, command) {
  const id = `question-${questions.size + 1}`;
  const call = { toolCallId: id, title: `shell · ${command}`, kind: "other", rawInput: { command } };
  const options = ["allow_always", "allow_once", "reject_once", "reject_always"].map((kind) => ({ optionId: kind, name: kind, kind }));
  const answer = new Promise((resolve) => questions.set(id, resolve));
  send({ id, method: "session/request_permission", params: { sessionId, toolCall: { ...call, status: "pending" }, options } });
  const { outcome } = await answer;
  update(sessionId, { sessionUpdate: "tool_call_update", toolCallId: id, status: "completed" });
  say(sessionId, `The answer is ${outcome.optionId ?? outcome.outcome}.`);
  return { stopReason: "end_turn" };
}

// The value of the expression after the command.
const evaluate = (text, sessionId) => runInNewContext(`(${text.slice(text.indexOf(" "))})`, { sessionId });

async function elicit(sessionId, params) {
  const id = `elicitation-${questions.size + 1}`;
  const answer = new Promise((resolve) => questions.set(id, resolve));
  sessions.get(sessionId).cancel = () => {};
  send({ id, method: "elicitation/create", params: { sessionId, ...params } });
  say(sessionId, `The answer is ${JSON.stringify(await answer)}.`);
  return { stopReason: "end_turn" };
}

// Like goose: a request without tools for the title, then one for the answer. It retries whatever the error is, and in the end it
// describes the error in prose with the address, or asks for a sign-in. A cancel ends the retries.
async function askModel(sessionId, path) {
  const cancelled = new AbortController();
  sessions.get(sessionId).cancel = () => cancelled.abort();
  const url = `${process.env.OPENAI_BASE_URL}${path}`;
  const request = (body) =>
    fetch(url, {
      method: "POST",
      headers: { "agent-session-id": sessionId },
      body: JSON.stringify({ stream: true, ...body }),
      signal: cancelled.signal,
    });
  await (await request({ messages: [] })).text();
  let failure = "";
  for (let attempt = 0; attempt < 9 && !cancelled.signal.aborted; attempt++) {
    const response = await request({ messages: [], tools: [{ name: "write" }] }).catch(() => null);
    const text = await response?.text().catch(() => null);
    if (response?.ok && !text.includes("event: error")) return (say(sessionId, "The model has answered."), { stopReason: "end_turn" });
    if (response?.status === 401) throw { code: -32000, message: "Authentication required" };
    failure = `Server error (${response?.status}) at ${url}: ${text}.`;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  if (cancelled.signal.aborted) return { stopReason: "cancelled" };
  say(sessionId, `Ran into this error: ${failure}\n\nPlease retry if you think this is a transient error.`);
  return { stopReason: "end_turn" };
}

if (offers.includes("sign-in")) process.stdout.write("Code> ");
createInterface({ input: process.stdin }).on("line", (line) => {
  if (offers.includes("sign-in")) {
    if (line !== process.env.SIGN_IN_CODE) process.exit(1);
    writeFileSync(SIGNED_IN, "");
    process.exit(0);
  }
  const { id, method, params, result: answer, error } = JSON.parse(line);
  if (answer || error) questions.get(id)?.(answer ?? error);
  if (method === "session/cancel") sessions.get(params.sessionId)?.cancel?.();
  if (id === undefined || method === undefined) return;
  if (offers.length > 0) appendFileSync(CALLS, `${method} ${params.sessionId ?? ""}\n`);
  const handle = methods[method];
  if (!handle) return send({ id, error: { code: -32601, message: "Method not found" } });
  let result;
  try {
    result = handle(params);
  } catch (error) {
    return send({ id, error: { code: error.code ?? -32603, message: error.message } });
  }
  if (result instanceof Promise)
    void result.then(
      (late) => send({ id, result: late }),
      (error) => send({ id, error }),
    );
  else send({ id, result });
});
