import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { ConfigError, type OpenAIEndpoint } from 'agentjet';

/**
 * One walk of a program in any language. The program answers each line, a JSON string, with a line that is a JSON
 * string.
 */
export type ForeignAgent = {
  ask(question: string): Promise<string>;
};

type Program = {
  readonly child: ChildProcess;
  readonly answers: AsyncIterator<string>;
  readonly closed: Promise<void>;
  complaints: string;
  failure: Error | undefined;
};

/** A program exits with this code if something that it needs is not installed. */
const cannotRunHere = 69;

/**
 * Programs of one kind. They keep running: each does many walks, because starting an interpreter takes longer than a
 * walk. They end with this process, which closes their input.
 */
export class ProgramPool {
  readonly #idle: Program[] = [];
  readonly #command: readonly [string, ...string[]];

  constructor(command: readonly [string, ...string[]]) {
    this.#command = command;
  }

  /**
   * Lends a program for a walk. A program that fails, or that is in the middle of an answer when the walk ends, is
   * not used again.
   */
  async walk<T>(
    { baseUrl, apiKey, model }: OpenAIEndpoint,
    signal: AbortSignal,
    walk: (agent: ForeignAgent) => Promise<T>,
  ): Promise<T> {
    const program = this.#take();
    keepWaiting(program, true);
    const kill = (): void => void program.child.kill();
    signal.addEventListener('abort', kill, { once: true });
    try {
      send(program, ['walk', baseUrl, apiKey, model].join('\t'));
      const result = await walk({ ask: (question) => this.#ask(program, question) });
      this.#idle.push(program);
      return result;
    } catch (error) {
      kill();
      throw error;
    } finally {
      signal.removeEventListener('abort', kill);
      keepWaiting(program, false);
    }
  }

  #take(): Program {
    for (let program = this.#idle.pop(); program !== undefined; program = this.#idle.pop()) {
      if (program.child.exitCode === null && program.child.signalCode === null) return program;
    }
    return start(this.#command);
  }

  async #ask(program: Program, question: string): Promise<string> {
    send(program, JSON.stringify(question));
    const answer = await program.answers.next();
    if (answer.done !== true) return String(JSON.parse(answer.value));
    throw await this.#explain(program);
  }

  async #explain(program: Program): Promise<Error> {
    await program.closed;
    const { child, complaints, failure } = program;
    const name = this.#command.join(' ');
    if (failure !== undefined)
      return new ConfigError(
        'no_program',
        `\`${name}\` cannot be started: ${failure.message}. Install ${this.#command[0]}, or say where it is.`,
      );
    if (child.exitCode === cannotRunHere) return new ConfigError('no_program', complaints.trim());
    return new Error(`\`${name}\` ended without an answer. ${complaints.trim()}`);
  }
}

function start([command, ...args]: readonly [string, ...string[]]): Program {
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'pipe'] });
  const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const program: Program = { child, answers, closed, complaints: '', failure: undefined };
  child.stderr.on('data', (chunk) => (program.complaints = `${program.complaints}${chunk}`.slice(-2000)));
  child.on('error', (error) => (program.failure = error));
  // Ignores a broken pipe. If a program exits early, its missing answer is reported as the error.
  child.stdin.on('error', () => undefined);
  return program;
}

/** A running walk keeps this process alive; an idle program does not. */
function keepWaiting({ child }: Program, isWalking: boolean): void {
  const handles = [child, child.stdin, child.stdout, child.stderr] as readonly Pick<ChildProcess, 'ref' | 'unref'>[];
  for (const handle of handles) {
    if (isWalking) handle.ref();
    else handle.unref();
  }
}

function send({ child }: Program, line: string): void {
  child.stdin?.write(`${line}\n`);
}
