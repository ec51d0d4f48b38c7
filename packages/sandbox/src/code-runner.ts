import { AgentJetError } from '@agentjet/core';

export const languages = ['javascript', 'python'] as const;
export type Language = (typeof languages)[number];

export type CodeLimits = {
  /** Of wall time, the start of the sandbox not counted. */
  readonly seconds: number;
  readonly megabytes: number;
  /** Characters of output and errors together. */
  readonly outputCharacters: number;
};

export type CodeOptions = {
  readonly language: Language;
  /** Text files that the code may read, by relative path. */
  readonly files?: Readonly<Record<string, string>>;
  /** Standard input; in JavaScript the string `stdin`. */
  readonly stdin?: string;
  readonly limits?: Partial<CodeLimits>;
  /** Ends the code; the result then says so. */
  readonly signal?: AbortSignal;
};

/** What the code did. A limit that it reached and an error that it threw are results: they are the agent's, not ours. */
export type CodeResult = {
  readonly stdout: string;
  /** The value of the last expression, as JSON; undefined if it has none. JavaScript only. */
  readonly value: unknown;
  /** What the code threw, as a person would read it; null if it ended by itself. */
  readonly error: string | null;
  readonly limit: 'time' | 'memory' | 'output' | 'aborted' | null;
};

/** Code of one side of a dialogue, with its files. */
export type Side = Pick<CodeOptions, 'files'> & { readonly code: string };

/**
 * Two programs in two sandboxes that exchange lines. `asking` speaks first; each line gives the turn to the other side. A line of
 * `asking` that begins with "!" ends the dialogue. Time is limited for each side, by the turns that it took. How code sends and
 * receives lines: in Python through its standard output and input; in JavaScript as `CodeRunner.talk` says.
 */
export type Dialogue = Pick<CodeOptions, 'language' | 'limits' | 'signal'> & {
  readonly asking: Side;
  readonly answering: Side;
};

/** How a side ended: what it threw, as a person would read it, and the limit that it reached. */
export type SideResult = Pick<CodeResult, 'error' | 'limit'>;

export type DialogueResult = {
  /** The last line of `asking` without its "!"; null if the dialogue ended in another way. */
  readonly conclusion: string | null;
  readonly asking: SideResult;
  readonly answering: SideResult;
};

/** Runs code that nobody has read. It reaches no network, no file but those given, and nothing of this process. */
export interface CodeRunner {
  readonly languages: readonly Language[];
  /** Rejects with SandboxError only if the sandbox itself fails. */
  run(code: string, options: CodeOptions): Promise<CodeResult>;
  /**
   * Runs two programs that talk, each in a new sandbox. In JavaScript the value of each code is a function: it gets a line and returns
   * the answer, and its global `ask` sends a line to the other side and returns the answer; that of `asking` is called with "" until it
   * returns a line with "!", and pending jobs run in between. The global `evaluate` runs a script in the global scope. Rejects with SandboxError only if a sandbox itself fails.
   */
  talk(dialogue: Dialogue): Promise<DialogueResult>;
  close(): Promise<void>;
}

/** The sandbox cannot be started, or died although no limit was reached. Codes: `unavailable`, `failed`. */
export class SandboxError extends AgentJetError {}

const defaultLimits: CodeLimits = { seconds: 5, megabytes: 256, outputCharacters: 20_000 };

/** A line that is longer breaks a limit of output. */
export const maxLineCharacters = 8_000_000;
/** Of one side of a dialogue. */
export const maxLinesCharacters = 64_000_000;

export function codeLimitsOf({ limits }: Pick<CodeOptions, 'limits'>): CodeLimits {
  return { ...defaultLimits, ...limits };
}

/** Longer code than this is not the answer of a model. */
const maxCodeCharacters = 1_000_000;

/** A result for code that is not worth starting; null if it is. */
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

/** A relative path without `..`, so that a file of the code lands in its own folder. Throws SandboxError. */
export function checkFileName(name: string): void {
  if (/^[\w-][\w.-]*(\/[\w-][\w.-]*)*$/.test(name)) return;
  throw new SandboxError(
    'failed',
    `${JSON.stringify(name)} is not a file of a sandbox. Use letters, digits, ".", "_", "-" and "/".`,
  );
}
