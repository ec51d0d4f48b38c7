import type { ChatMessage } from '@agentjet/core';
import { readAnswer } from './read-call.js';
import { StreamedAnswer } from './read-stream.js';

/**
 * Watches the result of a call. The caller gets the result unchanged, and the result is read only when the caller reads
 * it. A stream is inspected piece by piece while the caller reads it.
 */

export type CallOutcome = { readonly answer: ChatMessage | null } | { readonly error: unknown };

type Iterating = { [Symbol.asyncIterator]: () => AsyncIterator<unknown> };
type Fetched = {
  parseResponse: (...args: readonly unknown[]) => Promise<unknown>;
  readonly asResponse?: () => Promise<unknown>;
};

type Watch = {
  /** Called once the answer is complete, has failed or was abandoned. Further calls have no effect. */
  readonly end: (outcome: CallOutcome) => void;
  /** Runs code of the model. Calls that this code makes are not recorded separately. */
  readonly inside: <T>(work: () => T) => T;
};

/** Returns the value for the caller. */
export function watchAnswer(answer: unknown, watch: Watch): unknown {
  const { end } = watch;
  if (isFetched(answer)) return watchFetched(answer, watch);
  if (answer instanceof Promise) {
    return answer.then(
      (value: unknown) => watchValue(value, watch),
      (error: unknown) => {
        end({ error });
        throw error;
      },
    );
  }
  return watchValue(answer, watch);
}

/**
 * Returns whether the answer is a promise of OpenAI's or Anthropic's client. Such a promise reads the body when it is
 * awaited.
 */
function isFetched(answer: unknown): answer is Fetched {
  return answer instanceof Promise && 'parseResponse' in answer && typeof answer.parseResponse === 'function';
}

function watchFetched(answer: Fetched, watch: Watch): unknown {
  const { end } = watch;
  answer.asResponse?.().then(undefined, (error: unknown) => end({ error }));
  const read = answer.parseResponse.bind(answer);
  answer.parseResponse = async (...args) => {
    try {
      return watchValue(await read(...args), watch);
    } catch (error) {
      end({ error });
      throw error;
    }
  };
  return answer;
}

function watchValue(value: unknown, watch: Watch): unknown {
  if (isGenerator(value)) return passing(value, watch);
  if (isIterating(value)) return watchIteration(value, watch);
  const { stream } = (value ?? {}) as { readonly stream?: unknown };
  if (stream instanceof ReadableStream) return { ...(value as object), stream: watchStream(stream, watch) };
  watch.end({ answer: readAnswer(value) });
  return value;
}

function isGenerator(value: unknown): value is AsyncGenerator<unknown> {
  return (
    isIterating(value) && !(value instanceof ReadableStream) && 'next' in value && typeof value.next === 'function'
  );
}

function isIterating(value: unknown): value is Iterating {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value;
}

async function* passing(source: Iterating, { end, inside }: Watch): AsyncGenerator<unknown> {
  const streamed = new StreamedAnswer();
  const pieces = inside(() => source[Symbol.asyncIterator]());
  let isDone = false;
  try {
    for (;;) {
      const next = await inside(() => pieces.next());
      isDone = next.done === true;
      if (next.done === true) return;
      streamed.add(next.value);
      yield next.value;
    }
  } catch (error) {
    isDone = true;
    end({ error });
    throw error;
  } finally {
    end({ answer: streamed.read() });
    if (!isDone) await pieces.return?.();
  }
}

/** Watches a client's stream. The caller keeps the stream object itself, with its other methods. */
function watchIteration(stream: Iterating, watch: Watch): unknown {
  const name = 'iterator' in stream && typeof stream.iterator === 'function' ? 'iterator' : Symbol.asyncIterator;
  const iterate = (Reflect.get(stream, name) as () => AsyncGenerator<unknown>).bind(stream);
  Reflect.set(stream, name, () => passing(iterate(), watch));
  return stream;
}

function watchStream(stream: ReadableStream<unknown>, watch: Watch): ReadableStream<unknown> {
  const pieces = passing(stream, watch);
  let isBegun = false;
  return new ReadableStream<unknown>(
    {
      pull: async (controller) => {
        isBegun = true;
        const next = await pieces.next();
        if (next.done === true) controller.close();
        else controller.enqueue(next.value);
      },
      cancel: async (reason) => {
        if (isBegun) await pieces.return(undefined);
        else await stream.cancel(reason);
        watch.end({ answer: null });
      },
    },
    { highWaterMark: 0 }, // nothing is read before the caller reads
  );
}
