import type { QuickJSContext, QuickJSHandle, QuickJSWASMModule } from 'quickjs-emscripten-core';
import type { CodeLimits } from '../code-runner.js';

const maxStackBytes = 512 * 1024;

/** The output of the code, up to its limit. */
export class PrintedOutput {
  text = '';
  isFull = false;
  readonly #limit: number;

  constructor(limit: number) {
    this.#limit = limit;
  }

  hasRoomFor(characters: number): boolean {
    this.isFull ||= this.text.length + characters > this.#limit;
    return !this.isFull;
  }

  write(line: string): void {
    this.hasRoomFor(line.length);
    this.text = (this.text + line).slice(0, this.#limit);
  }
}

type ContextOptions = {
  readonly files: Readonly<Record<string, string>>;
  readonly stdin: string;
  readonly limits: CodeLimits;
  /** Called periodically. Returns whether the code must end. */
  readonly isOver: () => boolean;
};

/** Opens an interpreter. Its code can call only one function of this program, which collects output. */
export function openContext(
  quickjs: QuickJSWASMModule,
  { files, stdin, limits, isOver }: ContextOptions,
): { readonly context: QuickJSContext; readonly output: PrintedOutput } {
  const runtime = quickjs.newRuntime();
  const output = new PrintedOutput(limits.outputCharacters);
  runtime.setMemoryLimit(limits.megabytes * 1024 * 1024);
  runtime.setMaxStackSize(maxStackBytes);
  runtime.setInterruptHandler(() => isOver() || output.isFull);
  const context = runtime.newContext();
  giveConsole(context, output, limits.outputCharacters);
  giveFiles(context, files);
  giveInput(context, stdin);
  return { context, output };
}

export function isOutOfMemory(error: string | null): boolean {
  return error !== null && /^(InternalError|SyntaxError): out of memory/.test(error);
}

/**
 * Returns the length of a string of the interpreter. Check the length before you copy the string, because the memory of
 * the copy is not limited.
 */
export function lengthOf(context: QuickJSContext, text: QuickJSHandle): number {
  return context.getProp(text, 'length').consume((length) => context.getNumber(length));
}

function giveConsole(context: QuickJSContext, output: PrintedOutput, maxCharacters: number): void {
  const write = context.newFunction('write', (text) => {
    output.write(`${context.getString(text)}\n`);
    return output.isFull ? context.true : context.false;
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
          const { apply } = Reflect;
          const { slice } = String.prototype;
          let isFull = false;
          const log = (...values) => {
            if (isFull) throw new Error('The output is full.');
            isFull = write(apply(slice, values.map(show).join(' '), [0, ${maxCharacters}]));
          };
          globalThis.console = { log, info: log, warn: log, error: log, debug: log };
          globalThis.print = log;
        })()`,
      ),
    )
    .dispose();
}

/** Makes files available as `files['data.csv']`, whose value is the content of the file. */
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

/** The maximum length of an error message. A longer message is not copied out of the interpreter. */
const maxMessageCharacters = 4_000_000;

/** Returns the thrown value in readable form. Disposes of the handle. */
export function describeThrown(context: QuickJSContext, handle: QuickJSHandle): string {
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
  const text = result.error ? 'InternalError: interrupted' : messageOf(context, result.value);
  (result.error ?? result.value).dispose();
  return text;
}

function messageOf(context: QuickJSContext, text: QuickJSHandle): string {
  const length = lengthOf(context, text);
  return length > maxMessageCharacters ? `an error whose message has ${length} characters` : context.getString(text);
}
