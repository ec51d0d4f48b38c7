import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

export type ForeignAgentOptions = {
  readonly command: string;
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
};

/** A program in any language that answers one JSON string per line with one JSON string per line. */
export type ForeignAgent = {
  ask(question: string): Promise<string>;
  /** Ends its input, and waits until it has left. */
  close(): Promise<void>;
};

export function startForeignAgent({ command, args, environment, signal }: ForeignAgentOptions): ForeignAgent {
  const child = spawn(command, args, { env: { ...process.env, ...environment }, stdio: ['pipe', 'pipe', 'pipe'], signal });
  let complaints = '';
  let failure: Error | undefined;
  child.stderr.on('data', (chunk) => (complaints = `${complaints}${chunk}`.slice(-2000)));
  child.on('error', (error) => (failure = error));
  // A program that leaves early says so through its missing answer, not through a broken pipe.
  child.stdin.on('error', () => undefined);
  const left = once(child, 'close').catch(() => undefined);
  const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    async ask(question) {
      child.stdin.write(`${JSON.stringify(question)}\n`);
      const answer = await answers.next();
      if (answer.done === true) throw new Error(`\`${[command, ...args].join(' ')}\` ended without an answer. ${failure?.message ?? complaints}`);
      return String(JSON.parse(answer.value));
    },
    async close() {
      child.stdin.end();
      await left;
    },
  };
}
