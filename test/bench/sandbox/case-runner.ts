/**
 * The process that runs the programs of the benchmark, so that another process can watch it. It runs one program after
 * another. The parent sends a program, and this process answers with the result.
 */
import { openCodeRunner, type CodeLimits, type CodeRunner, type Language } from '@agentjet/sandbox';
import { openWithoutControlGroups } from '@agentjet/sandbox/testing';

export type RunRequest = {
  readonly language: Language;
  readonly code: string;
  readonly stdin?: string;
  readonly files?: Readonly<Record<string, string>>;
  readonly limits: CodeLimits;
  /** Whether the sandbox may use control groups. */
  readonly isGrouped: boolean;
};

export type RunReply = {
  readonly stdout: string;
  readonly value: string;
  readonly error: string | null;
  readonly limit: string | null;
  readonly mechanism: string;
  readonly ms: number;
  /** Whether the code changed objects of this process. */
  readonly isPolluted: boolean;
};

const runners = new Map<string, CodeRunner>();

function runnerFor(language: Language, isGrouped: boolean): CodeRunner {
  const key = `${language} ${isGrouped}`;
  const runner =
    runners.get(key) ??
    (isGrouped || language === 'javascript' ? openCodeRunner(language) : openWithoutControlGroups());
  runners.set(key, runner);
  return runner;
}

async function answer({ language, code, isGrouped, ...options }: RunRequest): Promise<RunReply> {
  const runner = runnerFor(language, isGrouped);
  const start = performance.now();
  const result = await runner.run(code, { language, ...options });
  return {
    stdout: result.stdout,
    value: JSON.stringify(result.value) ?? '',
    error: result.error,
    limit: result.limit,
    mechanism: result.mechanism ?? '',
    ms: performance.now() - start,
    isPolluted: 'polluted' in {},
  };
}

process.on('message', (request: RunRequest) => {
  answer(request).then(
    (reply) => process.send?.(reply),
    (error: unknown) => process.send?.({ failed: String(error) }),
  );
});
process.send?.('ready');
