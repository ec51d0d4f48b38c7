import type { QuickJSContext, QuickJSHandle, QuickJSWASMModule } from 'quickjs-emscripten-core';
import { maxLineCharacters, type CodeLimits, type DialogueResult, type Side, type SideResult } from '../code-runner.js';
import { describeThrown, isOutOfMemory, lengthOf, openContext, type PrintedOutput } from './quickjs-context.js';

type Name = 'asking' | 'answering';
export type TalkRequest = Readonly<Record<Name, Side>> & { readonly limits: CodeLimits };

const other = { asking: 'answering', answering: 'asking' } as const;
/** Calls between the sides may be nested this deeply. The limit exists because each level uses some of the thread's stack. */
const maxNested = 24;

/**
 * Runs two interpreters that exchange lines. Each has separate memory, and only strings pass between them. Nothing is
 * disposed of afterwards, because each memory is discarded as a whole.
 */
export function talk(modules: Readonly<Record<Name, QuickJSWASMModule>>, request: TalkRequest): DialogueResult {
  const conversation = new Conversation(modules, request);
  const fine: SideResult = { error: null, limit: null };
  const conclusion = conversation.run();
  return { conclusion, asking: fine, answering: fine, ...conversation.failure };
}

type Party = {
  readonly context: QuickJSContext;
  readonly output: PrintedOutput;
  serve: QuickJSHandle | null;
};

class Conversation {
  failure: { readonly [name in Name]?: SideResult } | null = null;
  readonly #parties: Readonly<Record<Name, Party>>;
  readonly #request: TalkRequest;
  readonly #leftMs: Record<Name, number>;
  #turn: Name = 'asking';
  #turnFrom = performance.now();
  #nested = 0;

  constructor(modules: Readonly<Record<Name, QuickJSWASMModule>>, request: TalkRequest) {
    this.#request = request;
    const ms = request.limits.seconds * 1000;
    this.#leftMs = { asking: ms, answering: ms };
    this.#parties = { asking: this.#open(modules, 'asking'), answering: this.#open(modules, 'answering') };
  }

  run(): string | null {
    if (!this.#load('answering') || !this.#load('asking')) return null;
    this.#pass('asking');
    while (this.failure === null) {
      const line = this.#call('asking', '');
      if (line?.startsWith('!') === true) return line.slice(1);
      for (const name of ['asking', 'answering'] as const) {
        this.#pass(name);
        this.#runJobs(name);
      }
      this.#pass('asking');
    }
    return null;
  }

  #open(modules: Readonly<Record<Name, QuickJSWASMModule>>, name: Name): Party {
    const { limits } = this.#request;
    const { files = {} } = this.#request[name];
    // Records the failure, because the interrupt that follows only raises an error, and code of the other side may
    // catch it.
    const isOver = (): boolean => {
      if (this.#isLate(name)) this.failure ??= { [name]: { error: null, limit: 'time' } };
      return this.failure !== null;
    };
    return { ...openContext(modules[name], { files, stdin: '', limits, isOver }), serve: null };
  }

  #isLate(name: Name): boolean {
    return this.#turn === name && performance.now() - this.#turnFrom > this.#leftMs[name];
  }

  #pass(name: Name): void {
    const now = performance.now();
    this.#leftMs[this.#turn] -= now - this.#turnFrom;
    this.#turn = name;
    this.#turnFrom = now;
  }

  #load(name: Name): boolean {
    const { context } = this.#parties[name];
    this.#pass(name);
    const ask = context.newFunction('ask', (line) => context.newString(this.#ask(name, this.#read(name, line) ?? '')));
    context.setProp(context.global, 'ask', ask);
    ask.dispose();
    const evaluate = context.newFunction('evaluate', (code) =>
      context.evalCode(context.getString(code), 'script.js', { type: 'global' }),
    );
    context.setProp(context.global, 'evaluate', evaluate);
    evaluate.dispose();
    const result = context.evalCode(this.#request[name].code, 'code.js', { type: 'global' });
    if (result.error) this.#fail(name, describeThrown(context, result.error));
    else this.#parties[name].serve = result.value;
    return this.failure === null;
  }

  /** Returns the answer of the other side, while `name` waits. */
  #ask(name: Name, line: string): string {
    this.#pass(other[name]);
    const answer = this.#call(other[name], line);
    this.#pass(name);
    if (answer === null) throw new Error('The dialogue has ended.');
    return answer;
  }

  #call(name: Name, line: string): string | null {
    const { context, serve } = this.#parties[name];
    if (this.failure !== null || serve === null) return null;
    if (this.#nested >= maxNested) this.#fail('answering', 'calls are nested too deeply');
    if (this.failure !== null) return null;
    this.#nested += 1;
    const text = context.newString(line);
    const result = context.callFunction(serve, context.undefined, text);
    text.dispose();
    this.#nested -= 1;
    if (result.error) {
      this.#fail(name, describeThrown(context, result.error));
      return null;
    }
    const answer = context.typeof(result.value) === 'string' ? this.#read(name, result.value) : '';
    result.value.dispose();
    return this.failure === null ? answer : null;
  }

  /** Copies a line out of an interpreter, unless it is too long. */
  #read(name: Name, line: QuickJSHandle): string | null {
    const { context } = this.#parties[name];
    const isLong = context.typeof(line) === 'string' && lengthOf(context, line) > maxLineCharacters;
    const text = isLong ? null : context.getString(line);
    if (text !== null && text.length <= maxLineCharacters) return text;
    this.failure ??= { [name]: { error: null, limit: 'output' } };
    return null;
  }

  #runJobs(name: Name): void {
    const { context } = this.#parties[name];
    const jobs = context.runtime.executePendingJobs();
    if (jobs.error) this.#fail(name, describeThrown(context, jobs.error));
  }

  #fail(name: Name, error: string): void {
    if (this.failure !== null) return;
    const limit = this.#isLate(name)
      ? 'time'
      : this.#parties[name].output.isFull
        ? 'output'
        : isOutOfMemory(error)
          ? 'memory'
          : null;
    this.failure = { [name]: { error: error.slice(0, this.#request.limits.outputCharacters), limit } };
  }
}
