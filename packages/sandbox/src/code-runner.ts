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

/** Runs code that nobody has read. It reaches no network, no file but those given, and nothing of this process. */
export interface CodeRunner {
  readonly languages: readonly Language[];
  /** Rejects with SandboxError only if the sandbox itself fails. */
  run(code: string, options: CodeOptions): Promise<CodeResult>;
  close(): Promise<void>;
}

/** The sandbox cannot be started, or died although no limit was reached. Codes: `unavailable`, `failed`. */
export class SandboxError extends AgentJetError {}

const defaultLimits: CodeLimits = { seconds: 5, megabytes: 256, outputCharacters: 20_000 };

export function limitsOf({ limits }: CodeOptions): CodeLimits {
  return { ...defaultLimits, ...limits };
}

/** Longer code than this is not the answer of a model. */
const maxCodeCharacters = 1_000_000;

/** A result for code that is not worth starting; null if it is. */
export function refuseCode(code: string, { files = {}, stdin = '' }: CodeOptions): CodeResult | null {
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
