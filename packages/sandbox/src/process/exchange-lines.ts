import {
  maxLineCharacters,
  maxLinesCharacters,
  type CodeLimits,
  type CodeResult,
  type DialogueResult,
  type Mechanism,
  type SideResult,
} from '../code-runner.js';
import { endOf, requireStarted, watchUsage, type SandboxProcess } from './sandbox-process.js';
import { exitOf } from './watch-limits.js';

type Name = 'asking' | 'answering';
type Options = { readonly limits: CodeLimits; readonly signal: AbortSignal | undefined; readonly startMs: number };

const other = { asking: 'answering', answering: 'asking' } as const;

/**
 * Passes lines between two processes that take turns. A line of `asking` that begins with "!" concludes the dialogue.
 * Lines of `answering` are not interpreted: they are only passed to `asking`. A side that sends a line while the other
 * side has the turn has failed.
 */
export async function exchangeLines(
  processes: Readonly<Record<Name, SandboxProcess>>,
  options: Options,
): Promise<DialogueResult> {
  const exchange = new Exchange(processes, options);
  try {
    return await exchange.result;
  } finally {
    await exchange.close();
  }
}

class Exchange {
  readonly #processes: Readonly<Record<Name, SandboxProcess>>;
  readonly #limits: CodeLimits;
  readonly #leftMs: Record<Name, number>;
  readonly #errors: Record<Name, string> = { asking: '', answering: '' };
  readonly #read: Record<Name, number> = { asking: 0, answering: 0 };
  readonly #rest: Record<Name, string> = { asking: '', answering: '' };
  readonly #exits: Promise<unknown>;
  readonly #done = new AbortController();
  readonly #startTimer: NodeJS.Timeout;
  #turn: Name = 'asking';
  #turnFrom: number | null = null;
  #timer: NodeJS.Timeout | undefined;
  #settle: { readonly resolve: (result: DialogueResult) => void; readonly reject: (error: unknown) => void };
  readonly result: Promise<DialogueResult>;

  constructor(processes: Readonly<Record<Name, SandboxProcess>>, { limits, signal, startMs }: Options) {
    this.#processes = processes;
    this.#limits = limits;
    this.#leftMs = { asking: limits.seconds * 1000, answering: limits.seconds * 1000 };
    this.#settle = { resolve: () => undefined, reject: () => undefined };
    this.result = new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
    });
    this.#exits = Promise.all([this.#watch('asking'), this.#watch('answering')]);
    this.#startTimer = setTimeout(() => this.#killUnready(), startMs);
    signal?.addEventListener('abort', () => this.#end('asking', { error: null, limit: 'aborted' }), {
      once: true,
      signal: this.#done.signal,
    });
  }

  get #mechanism(): Mechanism {
    return this.#processes.answering.mechanism;
  }

  async close(): Promise<void> {
    this.#done.abort();
    clearTimeout(this.#timer);
    clearTimeout(this.#startTimer);
    for (const { kill, child } of Object.values(this.#processes)) {
      kill();
      // Closes the pipes, because a process that the sandbox has only just started may outlive it and would keep them
      // open.
      for (const pipe of [child.stdin, child.stdout, child.stderr]) pipe?.destroy();
    }
    await this.#exits;
    for (const { cleanUp } of Object.values(this.#processes)) await cleanUp(true);
  }

  async #watch(name: Name): Promise<void> {
    const { child, start } = this.#processes[name];
    child.stdin?.on('error', () => undefined);
    child.stdout?.setEncoding('utf8').on('data', (text: string) => this.#hear(name, text));
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#errors[name] += start.read(text, () => this.#startClock());
      if (this.#errors[name].length > this.#limits.outputCharacters) this.#end(name, { error: null, limit: 'output' });
    });
    const usage = watchUsage(this.#processes[name], (limit) => this.#end(name, { error: null, limit }));
    const exit = await exitOf(child);
    usage.stop();
    if (this.#done.signal.aborted) return;
    try {
      requireStarted(this.#processes[name], exit);
      const { error, limit } = endOf(this.#processes[name], exit, this.#errors[name]);
      this.#end(name, { error: error ?? 'ended early', limit });
    } catch (error) {
      this.#settle.reject(error);
    }
  }

  #hear(name: Name, text: string): void {
    this.#read[name] += text.length;
    const lines = (this.#rest[name] + text).split('\n');
    this.#rest[name] = lines.pop() ?? '';
    if (this.#rest[name].length > maxLineCharacters || this.#read[name] > maxLinesCharacters)
      return this.#end(name, { error: null, limit: 'output' });
    for (const line of lines) this.#carry(name, line);
  }

  #carry(name: Name, line: string): void {
    if (this.#done.signal.aborted) return;
    if (name !== this.#turn) return this.#end(name, { error: 'sent a line although it was not its turn', limit: null });
    if (name === 'asking' && line.startsWith('!')) return this.#conclude(line.slice(1));
    this.#stopClock();
    this.#turn = other[name];
    this.#processes[this.#turn].child.stdin?.write(`${line}\n`);
    this.#startClock();
  }

  /**
   * Starts the clock of the side that has the turn, if its sandbox is ready. The start of a sandbox does not count as
   * time of its code.
   */
  #startClock(): void {
    if (this.#turnFrom !== null || !this.#processes[this.#turn].start.isReady) return;
    const name = this.#turn;
    this.#turnFrom = performance.now();
    this.#timer = setTimeout(() => this.#end(name, { error: null, limit: 'time' }), Math.max(0, this.#leftMs[name]));
  }

  #stopClock(): void {
    clearTimeout(this.#timer);
    if (this.#turnFrom !== null) this.#leftMs[this.#turn] -= performance.now() - this.#turnFrom;
    this.#turnFrom = null;
  }

  #killUnready(): void {
    for (const { start, kill } of Object.values(this.#processes)) if (!start.isReady) kill();
  }

  #conclude(conclusion: string): void {
    const fine: SideResult = { error: null, limit: null };
    this.#finish({ conclusion, mechanism: this.#mechanism, asking: fine, answering: fine });
  }

  #end(name: Name, result: Pick<CodeResult, 'error' | 'limit'>): void {
    const fine: SideResult = { error: null, limit: null };
    this.#finish({ conclusion: null, mechanism: this.#mechanism, asking: fine, answering: fine, [name]: result });
  }

  #finish(result: DialogueResult): void {
    if (this.#done.signal.aborted) return;
    this.#done.abort();
    clearTimeout(this.#timer);
    this.#settle.resolve(result);
  }
}
