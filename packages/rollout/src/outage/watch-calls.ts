/**
 * Replaces methods of a framework's model on the object itself, so failed calls are seen. The methods behave as before.
 */

type Method = (this: unknown, ...args: unknown[]) => unknown;

export type CallWatcher = {
  /** Runs `call` and returns its result. Use it to do something around each call. Default: it only runs `call`. */
  readonly around?: (args: readonly unknown[], call: () => unknown) => unknown;
  /** Called when a call begins. The returned function gets the error of a call that fails. */
  readonly begin: () => (error: unknown) => void;
};

function isPromise(value: unknown): value is Promise<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
}

/**
 * Returns a promise that rejects if the call fails. The OpenAI SDK's promise reads the body when it is awaited, and
 * that must remain the caller's choice. Its `asResponse` rejects with the same error and reads nothing.
 */
function settled(answer: Promise<unknown>): Promise<unknown> {
  const { asResponse } = answer as { asResponse?: unknown };
  return typeof asResponse === 'function' ? (asResponse.call(answer) as Promise<unknown>) : answer;
}

function isAsyncIterable(value: unknown): value is AsyncGenerator<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value && 'next' in value;
}

async function* watchIteration(source: AsyncGenerator<unknown>, fail: (error: unknown) => void) {
  try {
    return yield* source;
  } catch (error) {
    fail(error);
    throw error;
  }
}

function watching(method: Method, { begin, around = (_args, call) => call() }: CallWatcher): Method {
  return function (this: unknown, ...args) {
    const fail = begin();
    try {
      const answer = around(args, () => method.apply(this, args));
      if (isPromise(answer)) settled(answer).then(undefined, fail);
      return isAsyncIterable(answer) ? watchIteration(answer, fail) : answer;
    } catch (error) {
      fail(error);
      throw error;
    }
  };
}

/**
 * `methods` are the names of the methods that call the model, as paths such as `chat.completions.create`. A method that
 * is missing or cannot be replaced is skipped.
 */
export function watchCalls(model: unknown, methods: readonly string[], watcher: CallWatcher): void {
  for (const path of methods) {
    const [name = '', ...owners] = path.split('.').toReversed();
    const owner = owners.toReversed().reduce<unknown>((at, key) => (at as Record<string, unknown>)?.[key], model);
    if ((typeof owner !== 'object' && typeof owner !== 'function') || owner === null) continue;
    const method: unknown = Reflect.get(owner, name);
    if (typeof method !== 'function') continue;
    Reflect.defineProperty(owner, name, {
      value: watching(method as Method, watcher),
      configurable: true,
      writable: true,
      enumerable: Object.getOwnPropertyDescriptor(owner, name)?.enumerable ?? false,
    });
  }
}
