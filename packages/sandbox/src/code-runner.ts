import { AgentJetError } from '@agentjet/core';

export const languages = ['javascript', 'python'] as const;
export type Language = (typeof languages)[number];

export type CodeLimits = {
  /** Wall time. The start of the sandbox does not count. */
  readonly seconds: number;
  readonly megabytes: number;
  /** Number of characters of output and errors together. */
  readonly outputCharacters: number;
};

export type CodeOptions = {
  readonly language: Language;
  /** Text files that the code may read, by relative path. */
  readonly files?: Readonly<Record<string, string>>;
  /** Standard input. In JavaScript it is the string `stdin`. */
  readonly stdin?: string;
  readonly limits?: Partial<CodeLimits>;
  /** Ends the code. The result then has the limit `aborted`. */
  readonly signal?: AbortSignal;
};

/**
 * The mechanism that counts the memory of the code. `webassembly`: the memory of the interpreter has a maximum.
 * `cgroup`: the kernel counts all processes of the code and their files in memory together. `pss`: every 50 ms, the
 * proportional set sizes of the processes and the sizes of these files are summed. `container`: the engine of the
 * container counts.
 */
export type Mechanism = 'webassembly' | 'cgroup' | 'pss' | 'container';

/** The result of the code. Reaching a limit and throwing an error are results, because the agent caused them. */
export type CodeResult = {
  readonly stdout: string;
  /** The value of the last expression as JSON, or undefined if it has none. JavaScript only. */
  readonly value: unknown;
  /** The error that the code threw, in readable form. Null if the code ended normally. */
  readonly error: string | null;
  readonly limit: 'time' | 'memory' | 'processes' | 'output' | 'aborted' | null;
  /** Absent if the code was not started. */
  readonly mechanism?: Mechanism;
};

/** The code of one side of a dialogue, with its files. */
export type Side = Pick<CodeOptions, 'files'> & { readonly code: string };

/**
 * Two programs in two sandboxes that exchange lines. `asking` sends the first line, and each line passes the turn to
 * the other side. A line of `asking` that begins with "!" ends the dialogue. Each side has a time limit for all of its
 * turns together. Python code sends and receives lines through its standard output and input. `CodeRunner.talk`
 * describes how JavaScript does it.
 */
export type Dialogue = Pick<CodeOptions, 'language' | 'limits' | 'signal'> & {
  readonly asking: Side;
  readonly answering: Side;
};

/** How a side ended: the error that it threw, in readable form, and the limit that it reached. */
export type SideResult = Pick<CodeResult, 'error' | 'limit'>;

export type DialogueResult = {
  /** The last line of `asking` without its "!". Null if the dialogue ended differently. */
  readonly conclusion: string | null;
  /** Absent if the dialogue was not started. */
  readonly mechanism?: Mechanism;
  readonly asking: SideResult;
  readonly answering: SideResult;
};

/** Runs untrusted code. The code cannot reach the network, files other than those given, or this process. */
export interface CodeRunner {
  readonly languages: readonly Language[];
  /** Rejects with SandboxError only if the sandbox itself fails. */
  run(code: string, options: CodeOptions): Promise<CodeResult>;
  /**
   * Runs two programs that exchange lines, each in a new sandbox. A JavaScript program evaluates to a function that
   * takes a line and returns the answer. Its global `ask` sends a line to the other side and returns the answer. The
   * function of `asking` is called with "" until it returns a line with "!", and pending jobs run in between. The
   * global `evaluate` runs a script in the global scope. Rejects with SandboxError only if a sandbox itself fails.
   */
  talk(dialogue: Dialogue): Promise<DialogueResult>;
  close(): Promise<void>;
}

/** Thrown if the sandbox cannot start, or ends although the code reached no limit. Codes: `unavailable`, `failed`. */
export class SandboxError extends AgentJetError {}

const defaultLimits: CodeLimits = { seconds: 5, megabytes: 256, outputCharacters: 20_000 };

/** The maximum length of one line of a dialogue. A longer line exceeds the limit `output`. */
export const maxLineCharacters = 8_000_000;
/** The limit for all lines of one side of a dialogue. */
export const maxLinesCharacters = 64_000_000;

export function codeLimitsOf({ limits }: Pick<CodeOptions, 'limits'>): CodeLimits {
  return { ...defaultLimits, ...limits };
}

/** The maximum length of code, files and input together. A model does not write longer code in one answer. */
const maxCodeCharacters = 1_000_000;

/** Returns a result for code that is too large to start, or null if it may start. */
export function refuseCode(
  code: string,
  { files = {}, stdin = '' }: Pick<CodeOptions, 'files' | 'stdin'>,
): CodeResult | null {
  const size = code.length + stdin.length + Object.values(files).reduce((sum, text) => sum + text.length, 0);
  if (size <= maxCodeCharacters) return null;
  return {
    stdout: '',
    value: undefined,
    error: `The code, its files and its input have ${size} characters; ${maxCodeCharacters} are allowed.`,
    limit: null,
  };
}

/** Requires a relative path without `..`, so that a file of the code stays in its folder. Throws SandboxError. */
export function checkFileName(name: string): void {
  if (/^[\w-][\w.-]*(\/[\w-][\w.-]*)*$/.test(name)) return;
  throw new SandboxError(
    'failed',
    `${JSON.stringify(name)} is not a file of a sandbox. Use letters, digits, ".", "_", "-" and "/".`,
  );
}
