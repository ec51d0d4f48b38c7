import { randomUUID } from 'node:crypto';
import { SandboxError } from '../code-runner.js';
import { exitOf, lastLine } from '../process/watch-limits.js';
import { callEngine, endClient, feed, spawnClient, type BoxClient, type BoxEngine } from './engine.js';
import { MiddleCut } from './middle-cut.js';

/**
 * Runs one command in a box. A shell around the command reports its process and its end on the standard error of the
 * client, so that a command that ended is never confused with a client or an engine that broke off. It writes its end to
 * the standard output, too, so that an output that broke off is never taken for a whole one.
 */

export type ExecOptions = {
  /** A name or a number. Default: the user of the image. */
  readonly user?: string | number | undefined;
  /** Default: the folder of the image. */
  readonly cwd?: string | undefined;
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: string;
  /** The time limit of the command. Null: no limit. */
  readonly seconds: number | null;
  /** Ends the command as its time limit would, and the output so far is kept. For limits that may change while it runs. */
  readonly limit?: AbortSignal | undefined;
  /** The middle of a longer output is left out. */
  readonly outputCharacters: number;
  readonly signal?: AbortSignal | undefined;
};

export type ExecResult = {
  /** Null if the command ended the shell around it, or was ended at its time limit. */
  readonly status: number | null;
  /** Standard output and standard error, in the order of writing. */
  readonly output: string;
  /** True if the command was ended at its time limit. */
  readonly isOutOfTime: boolean;
  /** False if the command ended without a report, for example because it killed the shell around it. */
  readonly hasReported: boolean;
};

/**
 * `$0` is the mark, and `$1` the folder. The command's own errors go to standard output, so only this script writes to
 * standard error. A command whose folder the agent has removed runs in `/`.
 */
const reporting =
  'echo "$0 begins $$" >&2; [ -z "$1" ] || cd "$1" 2>/dev/null || cd /; shift; "$@" 2>&1; s=$?; echo "$0 ended"; echo "$0 ended $s" >&2';

/** Returns what a shell writes to standard output after the output of its command. */
const endOfOutput = (mark: string): string => `${mark} ended`;

/** The children of a command that has ended may keep its output open. The client gets this long to end by itself. */
const leaveMs = 300;
/** After the report, the rest of the output must arrive in this time. */
const drainSeconds = 30;
/** A shell that a signal ended cannot report. Every other end without a report is that of an engine. */
const isOfSignal = (status: number): boolean => status > 128 && status <= 192;
/** An engine may take this long to start a command. */
const startSeconds = 60;

export async function execInBox(
  engine: BoxEngine,
  box: string,
  command: readonly string[],
  options: ExecOptions,
): Promise<ExecResult> {
  const { stdin, signal } = options;
  signal?.throwIfAborted();
  const mark = newMark();
  const hasInput = stdin !== undefined;
  const client = spawnClient(engine, execArguments(box, command, { ...options, hasInput, script: reporting, mark }), {
    env: hiddenOf(options.env),
    hasInput,
  });
  feed(client.stdin, stdin);
  return readResult(client, options, { mark, name: engine.name, endGroup: (pid) => endGroup(engine, box, pid) });
}

/** Makes the beginning of every line of a report. */
export const newMark = (): string => `box-${randomUUID()}`;

export type Reporting = {
  readonly mark: string;
  /** The name of the engine, for messages. */
  readonly name: string;
  /** Ends the process group of a command that is out of time or no longer wanted. */
  readonly endGroup: (pid: string) => Promise<void>;
};

/** Waits for the report of a command, or until it is out of time. */
export async function readResult(
  client: BoxClient,
  { seconds, limit, outputCharacters, signal }: ExecOptions,
  { mark, name, endGroup }: Reporting,
): Promise<ExecResult> {
  const kept = new MiddleCut(outputCharacters);
  const output = new MarkedOutput(endOfOutput(mark), (text) => kept.add(text));
  const report = watchReport(mark);
  let leaving: NodeJS.Timeout | undefined;
  const leave = (): void => {
    if (report.status === undefined) return;
    clearTimeout(leaving);
    leaving = setTimeout(() => client.kill('SIGKILL'), output.isWhole ? leaveMs : drainSeconds * 1000).unref();
  };
  client.stdout.setEncoding('utf8').on('data', (text: string) => {
    if (output.isWhole) return; // from what the command left running
    output.add(text);
    if (output.isWhole) leave();
  });
  let isOutOfTime = false;
  let timer: NodeJS.Timeout | undefined;
  const end = (): void => {
    isOutOfTime = true;
    client.kill('SIGKILL');
  };
  limit?.addEventListener('abort', end, { once: true });
  const startTimer = (): void => {
    if (seconds !== null) timer = setTimeout(end, seconds * 1000);
  };
  client.stderr.setEncoding('utf8').on('data', (text: string) => {
    const had = report.pid;
    report.read(text);
    if (had === undefined && report.pid !== undefined) startTimer();
    leave();
  });
  const starting = setTimeout(() => report.pid === undefined && client.kill('SIGKILL'), startSeconds * 1000);
  const stop = endClient(client, { seconds: null, signal });
  const exit = await exitOf(client);
  for (const each of [timer, starting, leaving]) clearTimeout(each);
  limit?.removeEventListener('abort', end);
  const isAborted = stop() === 'aborted';
  if ((isOutOfTime || isAborted) && report.pid !== undefined) await endGroup(report.pid);
  signal?.throwIfAborted();
  output.end();
  const text = kept.text();
  if (report.status !== undefined) {
    if (!output.isWhole) throw new SandboxError('failed', `${name} exec lost the end of the output of a command.`);
    return { status: report.status, output: text, isOutOfTime: false, hasReported: true };
  }
  if (isOutOfTime) return { status: null, output: text, isOutOfTime: true, hasReported: false };
  if (report.pid === undefined || exit.status === null || !isOfSignal(exit.status))
    throw brokenOff(name, report.other, exit.signal);
  return { status: null, output: text, isOutOfTime: false, hasReported: false };
}

/** Passes on text until a mark that says that it is whole. The mark may arrive in pieces. */
class MarkedOutput {
  isWhole = false;
  readonly #mark: string;
  readonly #pass: (text: string) => void;
  #held = '';

  constructor(mark: string, pass: (text: string) => void) {
    this.#mark = mark;
    this.#pass = pass;
  }

  add(text: string): void {
    const all = this.#held + text;
    const at = all.indexOf(this.#mark);
    this.isWhole = at >= 0;
    const end = this.isWhole ? at : Math.max(0, all.length - this.#mark.length + 1);
    this.#pass(all.slice(0, end));
    this.#held = this.isWhole ? '' : all.slice(end);
  }

  /** Passes on the rest, if the mark has not arrived. */
  end(): void {
    this.#pass(this.#held);
    this.#held = '';
  }
}

/** The arguments of `exec` for a shell that runs `script` around a command. */
export function execArguments(
  box: string,
  command: readonly string[],
  {
    user,
    cwd,
    env = {},
    hasInput,
    script,
    mark,
  }: Pick<ExecOptions, 'user' | 'cwd' | 'env'> & {
    readonly hasInput: boolean;
    readonly script: string;
    readonly mark: string;
  },
): readonly string[] {
  return [
    'exec',
    ...(hasInput ? ['-i'] : []),
    ...(user === undefined ? [] : ['--user', String(user)]),
    ...(cwd === undefined ? [] : ['--workdir', '/']),
    ...envArguments(env),
    box,
    '/bin/sh',
    '-c',
    script,
    mark,
    cwd ?? '',
    ...command,
  ];
}

/** Variables that clients of engines or the programs below them use themselves. */
const clientsOwn =
  /^(PATH|HOME|TMPDIR|USER|LD_.*|XDG_.*|DBUS_.*|(CONTAINERS?|DOCKER|PODMAN|BUILDAH|STORAGE|REGISTRY)_.*|.*_PROXY)$/i;

const isHidden = (name: string): boolean => !clientsOwn.test(name);

/**
 * Names the variables, so that their values come from the client's own environment (`hiddenOf`) and no list of processes
 * shows them. A variable that the client itself uses is written out.
 */
export function envArguments(env: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(env).flatMap(([name, value]) => ['--env', isHidden(name) ? name : `${name}=${value}`]);
}

/** Returns the variables that `envArguments` only names. */
export function hiddenOf(env: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(env).filter(([name]) => isHidden(name)));
}

type Report = {
  pid: string | undefined;
  status: number | undefined;
  /** True if a file to be copied does not exist. */
  isAbsent: boolean;
  other: string;
  readonly read: (text: string) => void;
};

export function watchReport(mark: string): Report {
  let rest = '';
  const report: Report = {
    pid: undefined,
    status: undefined,
    isAbsent: false,
    other: '',
    read: (text) => {
      const lines = `${rest}${text}`.split('\n');
      rest = (lines.pop() ?? '').slice(-1000);
      for (const line of lines) {
        const [, verb, value] = line.startsWith(mark) ? line.split(' ') : [];
        if (verb === 'begins' && value !== undefined && /^\d+$/.test(value)) report.pid ??= value;
        else if (verb === 'ended') report.status ??= Number(value);
        else if (verb === 'absent') report.isAbsent = true;
        else report.other = `${report.other}${line}\n`.slice(-2000);
      }
    },
  };
  return report;
}

/** Ends the command and everything in its process group. The shell's own `kill` is used, so the image needs no program. */
export async function endGroup(engine: BoxEngine, box: string, pid: string): Promise<void> {
  const command = ['exec', '--user', '0', box, '/bin/sh', '-c', `kill -9 -${pid}`];
  await callEngine(engine, command, { seconds: startSeconds }).catch(() => undefined);
}

function brokenOff(name: string, said: string, signal: string | null): SandboxError {
  const why = lastLine(said) || `its client ended${signal === null ? '' : ` with ${signal}`}`;
  return new SandboxError('failed', `${name} exec broke off: ${why}`);
}
