/**
 * The thread of a QuickJS sandbox. It runs interpreters that are compiled to WebAssembly. Their code can call only a
 * few functions of this program, which collect output and exchange lines.
 */
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { parentPort } from 'node:worker_threads';
import variant from '@jitl/quickjs-wasmfile-release-sync';
import {
  newQuickJSWASMModuleFromVariant,
  newVariant,
  type QuickJSContext,
  type QuickJSHandle,
  type QuickJSSyncVariant,
  type QuickJSWASMModule,
} from 'quickjs-emscripten-core';
import type { CodeLimits, CodeResult, DialogueResult } from '../code-runner.js';
import { isOutOfMemory, openContext, describeThrown, type PrintedOutput } from './quickjs-context.js';
import { talk, type TalkRequest } from './quickjs-talk.js';

export type ProgramRequest = {
  readonly code: string;
  readonly files: Readonly<Record<string, string>>;
  readonly stdin: string;
  readonly limits: CodeLimits;
};

/**
 * `broken` says how the code broke the interpreter, for example with brackets nested so deeply that the parser
 * overflows the stack of the thread.
 */
export type QuickjsAnswer = CodeResult | DialogueResult | { readonly broken: string };
export type QuickjsRequest = ProgramRequest | TalkRequest;

function runCode(quickjs: QuickJSWASMModule, { code, files, stdin, limits }: ProgramRequest): CodeResult {
  const deadline = performance.now() + limits.seconds * 1000;
  let isLate = false;
  const isOver = (): boolean => (isLate ||= performance.now() > deadline);
  const { context, output } = openContext(quickjs, { files, stdin, limits, isOver });
  const { value, error } = evaluate(context, code, output);
  const limit = isLate ? 'time' : output.isFull ? 'output' : isOutOfMemory(error) ? 'memory' : null;
  const { runtime } = context;
  // This line is not reached if the code broke the context, because `evaluate` then throws. A broken context cannot be
  // disposed of. It ends with its thread.
  context.dispose();
  runtime.dispose();
  return {
    stdout: output.text,
    value,
    error: error === null ? null : error.slice(0, limits.outputCharacters),
    limit,
  };
}

async function answer(quickjs: QuickJSWASMModule, request: QuickjsRequest): Promise<QuickjsAnswer> {
  try {
    return 'asking' in request
      ? talk({ asking: await loadModule(), answering: await loadModule() }, request)
      : runCode(quickjs, request);
  } catch (error) {
    return { broken: String(error) };
  }
}

/**
 * Loads an interpreter with separate memory. The cast is needed because the types describe the CommonJS build, in which the
 * default import is an object that contains the variant.
 */
function loadModule(): Promise<QuickJSWASMModule> {
  return newQuickJSWASMModuleFromVariant(
    newVariant(variant as unknown as QuickJSSyncVariant, { wasmModule: compiled }),
  );
}

function evaluate(
  context: QuickJSContext,
  code: string,
  output: PrintedOutput,
): { readonly value: unknown; readonly error: string | null } {
  const result = context.evalCode(code, 'code.js', { type: 'global' });
  if (result.error) return { value: undefined, error: describeThrown(context, result.error) };
  const jobs = context.runtime.executePendingJobs();
  if (jobs.error) {
    result.value.dispose();
    return { value: undefined, error: describeThrown(context, jobs.error) };
  }
  return toValue(context, result.value, output);
}

/** Converts the result to JSON. If it is a promise that has settled, converts the value of the promise. */
function toValue(
  context: QuickJSContext,
  handle: QuickJSHandle,
  output: PrintedOutput,
): { readonly value: unknown; readonly error: string | null } {
  const state = context.getPromiseState(handle);
  if (state.type === 'rejected') {
    handle.dispose();
    return { value: undefined, error: describeThrown(context, state.error) };
  }
  const settled = state.type === 'fulfilled' ? state.value : handle;
  const value = toJson(context, settled, output);
  if (settled.alive) settled.dispose();
  if (handle.alive) handle.dispose();
  return { value, error: null };
}

/** Converts through JSON inside the sandbox, so that no getter or proxy of the code runs outside. */
function toJson(context: QuickJSContext, handle: QuickJSHandle, output: PrintedOutput): unknown {
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

// TypeScript has the types of WebAssembly only in its library for browsers.
const compiler = globalThis as unknown as { readonly WebAssembly: { compile(bytes: Uint8Array): Promise<object> } };
// The module is compiled once, because a dialogue uses two interpreters.
const wasm = createRequire(import.meta.url).resolve('@jitl/quickjs-wasmfile-release-sync/wasm');
const compiled = await compiler.WebAssembly.compile(await readFile(wasm));
const quickjs = await loadModule();
parentPort?.on('message', (request: QuickjsRequest) => {
  void answer(quickjs, request).then((answered) => parentPort?.postMessage(answered));
});
parentPort?.postMessage('ready');
