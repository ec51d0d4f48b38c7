import { recordCall } from '../episode/untrained-calls.js';

/**
 * Marks the errors that a debug model's calls throw, so that an episode that fails with one knows whose call failed, and has the
 * calls recorded. The agent gets the very model that was passed: its call methods are replaced on the object itself, once, and
 * do the same as before.
 */

const marked = new WeakMap<object, string>();
const watched = new WeakSet<object>();

/** The agent whose debug model threw this error; undefined if it comes from elsewhere. */
export function debugModelOf(error: object): string | undefined {
  return marked.get(error);
}

function mark(error: unknown, agentName: string): void {
  if (typeof error === 'object' && error !== null && !marked.has(error)) marked.set(error, agentName);
}

type Method = (this: unknown, ...args: unknown[]) => unknown;

function isPromise(value: unknown): value is Promise<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
}

/**
 * What rejects if a call fails. The OpenAI SDK's promise reads the body when it is awaited, which must stay the caller's choice:
 * its `asResponse` rejects with the same error and reads nothing.
 */
function settled(answer: Promise<unknown>): Promise<unknown> {
  const { asResponse } = answer as { asResponse?: unknown };
  return typeof asResponse === 'function' ? (asResponse.call(answer) as Promise<unknown>) : answer;
}

function isAsyncIterable(value: unknown): value is AsyncGenerator<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value && 'next' in value;
}

async function* markIteration(source: AsyncGenerator<unknown>, agentName: string): AsyncGenerator<unknown> {
  try {
    return yield* source;
  } catch (error) {
    mark(error, agentName);
    throw error;
  }
}

function marking(method: Method, model: unknown, agentName: string): Method {
  return function (this: unknown, ...args) {
    try {
      const answer = recordCall(model, args, () => method.apply(this, args));
      if (isPromise(answer)) settled(answer).then(undefined, (error: unknown) => mark(error, agentName));
      return isAsyncIterable(answer) ? markIteration(answer, agentName) : answer;
    } catch (error) {
      mark(error, agentName);
      throw error;
    }
  };
}

/**
 * `methods`: names of the methods that call the model, as paths such as `chat.completions.create`. A method that is missing or
 * cannot be replaced is left alone: its errors are then attributed by what they are.
 */
export function watchDebugModel(model: unknown, agentName: string, methods: readonly string[]): void {
  if ((typeof model !== 'object' && typeof model !== 'function') || model === null || watched.has(model)) return;
  watched.add(model);
  for (const path of methods) {
    const [name = '', ...owners] = path.split('.').toReversed();
    const owner = owners.toReversed().reduce<unknown>((at, key) => (at as Record<string, unknown>)?.[key], model);
    if (typeof owner !== 'object' || owner === null) continue;
    const method: unknown = Reflect.get(owner, name);
    if (typeof method !== 'function') continue;
    Reflect.defineProperty(owner, name, {
      value: marking(method as Method, model, agentName),
      configurable: true,
      writable: true,
      enumerable: Object.getOwnPropertyDescriptor(owner, name)?.enumerable ?? false,
    });
  }
}
