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
import { describeThrown, isOutOfMemory, lengthOf, openContext, type PrintedOutput } from './quickjs-context.js';
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
export type QuickjsReply = {
  readonly answer: QuickjsAnswer;
  /** The size of the interpreters' memory after the run. */
  readonly memoryBytes: number;
};
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

async function answer(request: QuickjsRequest): Promise<QuickjsReply> {
  const { megabytes } = request.limits;
  if (!('asking' in request)) return answerProgram(request);
  const modules = { asking: await loadModule(megabytes), answering: await loadModule(megabytes) };
  const answered = attempt(() => talk(modules, request));
  return { answer: answered, memoryBytes: bytesOf(modules.asking) + bytesOf(modules.answering) };
}

/** A module whose memory did not grow is used again, because loading takes longer than most programs. */
let kept: { readonly quickjs: QuickJSWASMModule; readonly megabytes: number } | null = null;

async function answerProgram(request: ProgramRequest): Promise<QuickjsReply> {
  const { megabytes } = request.limits;
  const quickjs = kept?.megabytes === megabytes ? kept.quickjs : await loadModule(megabytes);
  const before = bytesOf(quickjs);
  const answered = attempt(() => runCode(quickjs, request));
  const memoryBytes = bytesOf(quickjs);
  kept = memoryBytes === before ? { quickjs, megabytes } : null;
  return { answer: answered, memoryBytes };
}

function attempt(run: () => QuickjsAnswer): QuickjsAnswer {
  try {
    return run();
  } catch (error) {
    return { broken: String(error) };
  }
}

function bytesOf(quickjs: QuickJSWASMModule): number {
  return (quickjs.getWasmMemory() as { readonly buffer: ArrayBuffer }).buffer.byteLength;
}

/**
 * Loads QuickJS as a module with separate memory, which cannot grow beyond its maximum. QuickJS has a memory limit too,
 * but in WebAssembly it does not know the sizes of its allocations, so that limit stops only single allocations that
 * are too large. The cast of the variant is needed because the types describe the CommonJS build, in which the default
 * import is an object that contains the variant.
 */
function loadModule(megabytes: number): Promise<QuickJSWASMModule> {
  return newQuickJSWASMModuleFromVariant(
    newVariant(variant as unknown as QuickJSSyncVariant, {
      wasmModule: compiled,
      wasmMemory: new webAssembly.Memory(pagesOf(megabytes)),
    }),
  );
}

const pagesOfMegabyte = 16;
/** The memory, in pages, that the compiled interpreter requires at its start, and the maximum that it can address. */
const minPages = 256;
const maxPages = 32_768;

function pagesOf(megabytes: number): { readonly initial: number; readonly maximum: number } {
  const pages = Math.floor(megabytes * pagesOfMegabyte);
  return { initial: minPages, maximum: Math.min(maxPages, Math.max(minPages, pages)) };
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
  const isText = context.typeof(result.value) === 'string' && output.hasRoomFor(lengthOf(context, result.value));
  const value: unknown = isText ? JSON.parse(context.getString(result.value)) : undefined;
  result.value.dispose();
  return value;
}

// TypeScript has the types of WebAssembly only in its library for browsers.
const webAssembly = (
  globalThis as unknown as {
    readonly WebAssembly: {
      compile(bytes: Uint8Array): Promise<object>;
      readonly Memory: new (pages: { readonly initial: number; readonly maximum: number }) => object;
    };
  }
).WebAssembly;
// QuickJS is compiled once for all modules.
const wasm = createRequire(import.meta.url).resolve('@jitl/quickjs-wasmfile-release-sync/wasm');
const compiled = await webAssembly.compile(await readFile(wasm));
parentPort?.on('message', (request: QuickjsRequest) => {
  void answer(request).then((reply) => parentPort?.postMessage(reply));
});
parentPort?.postMessage('ready');
