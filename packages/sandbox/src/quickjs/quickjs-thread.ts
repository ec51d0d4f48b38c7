/** The thread of a QuickJS sandbox: an interpreter compiled to WebAssembly. It is given no function of the host but one that collects output. */
import { parentPort } from 'node:worker_threads';
import variant from '@jitl/quickjs-wasmfile-release-sync';
import {
  newQuickJSWASMModuleFromVariant,
  type QuickJSContext,
  type QuickJSHandle,
  type QuickJSSyncVariant,
  type QuickJSWASMModule,
} from 'quickjs-emscripten-core';
import type { CodeLimits, CodeResult } from '../code-runner.js';

export type ThreadRequest = {
  readonly code: string;
  readonly files: Readonly<Record<string, string>>;
  readonly stdin: string;
  readonly limits: CodeLimits;
};

/** `broken`: the code has broken the interpreter, such as by brackets so deep that its parser overflows the stack of the thread. */
export type ThreadAnswer = CodeResult | { readonly broken: string };

const maxStackBytes = 512 * 1024;

class Output {
  text = '';
  isFull = false;
  readonly #limit: number;

  constructor(limit: number) {
    this.#limit = limit;
  }

  hasRoomFor(text: string): boolean {
    this.isFull ||= this.text.length + text.length > this.#limit;
    return !this.isFull;
  }

  write(line: string): void {
    this.hasRoomFor(line);
    this.text = (this.text + line).slice(0, this.#limit);
  }
}

function runCode(quickjs: QuickJSWASMModule, { code, files, stdin, limits }: ThreadRequest): CodeResult {
  const runtime = quickjs.newRuntime();
  const output = new Output(limits.outputCharacters);
  const deadline = performance.now() + limits.seconds * 1000;
  let isLate = false;
  runtime.setMemoryLimit(limits.megabytes * 1024 * 1024);
  runtime.setMaxStackSize(maxStackBytes);
  runtime.setInterruptHandler(() => {
    isLate ||= performance.now() > deadline;
    return isLate || output.isFull;
  });
  const context = runtime.newContext();
  giveConsole(context, output);
  giveFiles(context, files);
  giveInput(context, stdin);
  const { value, error } = evaluate(context, code, output);
  const limit = isLate ? 'time' : output.isFull ? 'output' : isOutOfMemory(error) ? 'memory' : null;
  context.dispose(); // not after a throw: what is broken cannot be disposed of, and ends with its thread
  runtime.dispose();
  return {
    stdout: output.text,
    value,
    error: error === null ? null : error.slice(0, limits.outputCharacters),
    limit,
  };
}

function answer(quickjs: QuickJSWASMModule, request: ThreadRequest): ThreadAnswer {
  try {
    return runCode(quickjs, request);
  } catch (error) {
    return { broken: String(error) };
  }
}

function isOutOfMemory(error: string | null): boolean {
  return error !== null && error.startsWith('InternalError: out of memory');
}

function giveConsole(context: QuickJSContext, output: Output): void {
  const write = context.newFunction('write', (text) => {
    output.write(`${context.getString(text)}\n`);
  });
  context.setProp(context.global, '__write', write);
  write.dispose();
  context
    .unwrapResult(
      context.evalCode(
        `(() => {
          const write = globalThis.__write;
          delete globalThis.__write;
          const show = (value) => {
            if (typeof value === 'string') return value;
            if (typeof value !== 'object' || value === null) return String(value);
            if (value instanceof Error) return String(value);
            try { return JSON.stringify(value); } catch { return String(value); }
          };
          const log = (...values) => write(values.map(show).join(' '));
          globalThis.console = { log, info: log, warn: log, error: log, debug: log };
          globalThis.print = log;
        })()`,
      ),
    )
    .dispose();
}

/** `files['data.csv']` is the text of a file. */
function giveFiles(context: QuickJSContext, files: Readonly<Record<string, string>>): void {
  const object = context.newObject();
  for (const [name, text] of Object.entries(files)) {
    const value = context.newString(text);
    context.setProp(object, name, value);
    value.dispose();
  }
  context.setProp(context.global, 'files', object);
  object.dispose();
}

function giveInput(context: QuickJSContext, stdin: string): void {
  const value = context.newString(stdin);
  context.setProp(context.global, 'stdin', value);
  value.dispose();
}

function evaluate(
  context: QuickJSContext,
  code: string,
  output: Output,
): { readonly value: unknown; readonly error: string | null } {
  const result = context.evalCode(code, 'code.js', { type: 'global' });
  if (result.error) return { value: undefined, error: toText(context, result.error) };
  const jobs = context.runtime.executePendingJobs();
  if (jobs.error) {
    result.value.dispose();
    return { value: undefined, error: toText(context, jobs.error) };
  }
  return toValue(context, result.value, output);
}

/** A promise that has settled by now says what it holds. */
function toValue(
  context: QuickJSContext,
  handle: QuickJSHandle,
  output: Output,
): { readonly value: unknown; readonly error: string | null } {
  const state = context.getPromiseState(handle);
  if (state.type === 'rejected') {
    handle.dispose();
    return { value: undefined, error: toText(context, state.error) };
  }
  const settled = state.type === 'fulfilled' ? state.value : handle;
  const value = toJson(context, settled, output);
  if (settled.alive) settled.dispose();
  if (handle.alive) handle.dispose();
  return { value, error: null };
}

/** Through JSON inside of the sandbox, so that no getter or proxy of the code's runs while we look. */
function toJson(context: QuickJSContext, handle: QuickJSHandle, output: Output): unknown {
  const stringify = context.unwrapResult(
    context.evalCode('(value) => { try { return JSON.stringify(value) } catch { return undefined } }'),
  );
  const result = context.callFunction(stringify, context.undefined, handle);
  stringify.dispose();
  if (result.error) {
    result.error.dispose();
    return undefined;
  }
  const text = context.typeof(result.value) === 'string' ? context.getString(result.value) : undefined;
  result.value.dispose();
  if (text === undefined || !output.hasRoomFor(text)) return undefined;
  return JSON.parse(text) as unknown;
}

function toText(context: QuickJSContext, handle: QuickJSHandle): string {
  const describe = context.evalCode(
    '(error) => { try { return error instanceof Error ? error.name + ": " + error.message : String(error) } catch { return "an error that cannot be shown" } }',
  );
  if (describe.error) {
    describe.error.dispose();
    handle.dispose();
    return 'InternalError: out of memory';
  }
  const result = context.callFunction(describe.value, context.undefined, handle);
  describe.value.dispose();
  handle.dispose();
  const text = result.error ? 'InternalError: interrupted' : context.getString(result.value);
  (result.error ?? result.value).dispose();
  return text;
}

// Its types describe the CommonJS build, so the default export looks wrapped; it is not.
const quickjs = await newQuickJSWASMModuleFromVariant(variant as unknown as QuickJSSyncVariant);
parentPort?.on('message', (request: ThreadRequest) => {
  parentPort?.postMessage(answer(quickjs, request));
});
parentPort?.postMessage('ready');
