import { constants } from "node:os";
import type { Duplex } from "node:stream";
import type { ServerChannel, Session } from "ssh2";
import { isAppError } from "@berth/contract/errors.ts";
import type { StartedProgram } from "../program-list/started-program.ts";
import type { Environment } from "../programs/environment.ts";
import { isSize } from "../programs/pty/pty.ts";
import type { Running, RunningOptions } from "../programs/running.ts";
import { commandShell, loginShell } from "../terminals/shell.ts";
import { serveSftp } from "./sftp/sftp.ts";

export interface SessionDeps {
  environment: Pick<Environment, "forChild">;
  // Where shells start.
  workspace: string;
  // Where commands start, and where relative paths of SFTP begin: programs that use SSH rely on that.
  home: string;
  startRunning(options: RunningOptions): Promise<Running>;
  // Adds a program to the list of those that run, until disposed.
  onStart(program: StartedProgram): Disposable;
  // Prepares a channel for use.
  open<Opened extends ServerChannel>(channel: Opened): Opened;
  transport: Duplex;
  // Whether a pause has closed the connection, which has ended.
  wasPaused: () => boolean;
}

interface Program extends Pick<RunningOptions, "cwd"> {
  // Throws if the image has no shell.
  words: () => string[];
  title: string;
}

// Output that the client has not taken yet.
const MAX_UNSENT_BYTES = 256 * 1024;
const MAX_VARIABLES = 64;
const MAX_VALUE_LENGTH = 1024;
const PASSED_VARIABLES = /^(LANG|LC_[A-Z_]+|COLORTERM|TZ)$/;
const DEFAULT_SIZE = { cols: 80, rows: 24 };
// Some programs look at these to find out that they run over SSH. There are no addresses.
const SSH_VARIABLES = { SSH_CLIENT: "127.0.0.1 0 22", SSH_CONNECTION: "127.0.0.1 0 127.0.0.1 22" };

// Serves a session of a connection: a shell, a command or SFTP.
export function serveSession(session: Session, deps: SessionDeps): void {
  const { environment, workspace, home, startRunning, onStart, open, transport, wasPaused } = deps;
  const variables: Record<string, string> = {};
  let pty: { cols: number; rows: number } | null = null;
  let running: Running | null = null;

  session.on("env", (accept, reject, { key, val }) => {
    const isPassed = PASSED_VARIABLES.test(key) && val.length <= MAX_VALUE_LENGTH && !val.includes("\0");
    if (!isPassed || Object.keys(variables).length >= MAX_VARIABLES) return reject?.();
    variables[key] = val;
    accept?.();
  });
  session.on("pty", (accept, _reject, { cols, rows, term }: { cols: number; rows: number; term?: string }) => {
    pty = sizeOf(cols, rows);
    if (term && /^[\w.+-]{1,64}$/.test(term)) variables.TERM = term;
    accept?.();
  });
  session.on("window-change", (accept, _reject, { cols, rows }) => {
    const size = sizeOf(cols, rows);
    running?.resize(size.cols, size.rows);
    accept?.();
  });
  session.on("signal", (accept, reject, { name }) => {
    if (!running || !isSignal(`SIG${name}`)) return reject?.();
    running.signal(`SIG${name}` as NodeJS.Signals);
    accept?.();
  });
  session.on("shell", (accept) => start(accept(), { words: pty ? loginShell : () => commandShell(null), cwd: workspace, title: "ssh" }));
  session.on("exec", (accept, _reject, { command }) =>
    start(accept(), { words: () => commandShell(command), cwd: home, title: `ssh: ${command}` }),
  );
  session.on("subsystem", (accept, reject, { name }) => {
    if (name !== "sftp") return reject();
    const channel = accept() as ServerChannel | undefined;
    if (channel) serveSftp(open(channel), { home });
  });

  function start(accepted: ServerChannel | undefined, program: Program): void {
    // The client has closed it already, or has started something else in this session.
    if (!accepted) return;
    const channel = open(accepted);
    run(channel, program).catch((error: unknown) => {
      channel.stderr.write(`${isAppError(error) ? error.message : "The command could not be started"}\r\n`);
      channel.exit(127);
      channel.end();
    });
  }

  async function run(channel: ServerChannel, { words, cwd, title }: Program): Promise<void> {
    const hasPty = pty !== null;
    let unsent = 0;
    let isClosed = false;
    let isRead = true;
    let end: (() => void) | null = null;
    const close = () => {
      if (isClosed) return;
      isClosed = true;
      transport.off("close", close);
      leave();
    };
    channel.once("close", close);
    // A channel whose input is not read does not close by itself.
    transport.once("close", close);

    const started = await startRunning({
      words: words(),
      cwd,
      env: environment.forChild({ ...SSH_VARIABLES, ...variables }),
      pty,
      hasInput: true,
      onOutput(stream, bytes) {
        if (!isRead) return;
        const { length } = bytes;
        unsent += length;
        if (unsent > MAX_UNSENT_BYTES) running?.pause();
        // The bytes are valid only now, and the client may not have room for them.
        (stream === "stderr" ? channel.stderr : channel).write(Buffer.from(bytes), () => {
          unsent -= length;
          if (unsent <= MAX_UNSENT_BYTES) running?.resume();
          if (unsent === 0) end?.();
        });
      },
      onExit(code, signal) {
        running = null;
        listed[Symbol.dispose]();
        end = () => {
          end = null;
          sendExit(channel, code, signal);
          channel.end();
        };
        if (unsent === 0) end();
      },
    });
    running = started;
    const listed = onStart({ kind: "command", title, pid: started.pid, stop: started.stop });
    if (isClosed) return leave();
    channel.on("data", (bytes: Buffer) => {
      if (started.write(bytes)) return;
      channel.pause();
      started.drained(() => channel.resume());
    });
    // A program on a pseudo-terminal would read a key that no one has pressed.
    if (!hasPty) channel.on("end", () => started.closeInput());

    // The client is gone. A program on a pseudo-terminal is hung up. Others lose their input and output, as with other servers; after
    // a pause they go on, and their output is dropped.
    function leave(): void {
      isRead = false;
      if (!running) return;
      running.resume();
      if (hasPty) return running.signal("SIGHUP");
      running.closeInput();
      if (!wasPaused()) running.closeOutput();
    }
  }
}

function sizeOf(cols: number, rows: number): { cols: number; rows: number } {
  return isSize(cols) && isSize(rows) ? { cols, rows } : DEFAULT_SIZE;
}

const isSignal = (name: string): boolean => name in constants.signals;

// The protocol has names for these signals only.
const NAMED_SIGNALS = /^SIG(ABRT|ALRM|FPE|HUP|ILL|INT|KILL|PIPE|QUIT|SEGV|TERM|USR1|USR2)$/;

function sendExit(channel: ServerChannel, code: number | null, signal: string | null): void {
  const named = NAMED_SIGNALS.exec(signal ?? "")?.[1];
  if (named) channel.exit(named, false, "");
  else channel.exit(code ?? 128 + (constants.signals[signal as NodeJS.Signals] ?? 0));
}
