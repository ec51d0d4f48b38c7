import type { ChatDelta, ChatModel, ChatRequest, ChatResponse } from '@agentjet/core';

/**
 * Streams a model call for frameworks that read an iterator. The generator yields deltas as the engine produces them
 * and returns the whole response. If the caller leaves its loop early, the call is aborted and leaves no sample.
 */
export async function* streamChat(
  model: ChatModel,
  request: ChatRequest,
  options: { readonly signal?: AbortSignal | undefined } = {},
): AsyncGenerator<ChatDelta, ChatResponse, undefined> {
  const left = new AbortController();
  const abort = (): void => left.abort(options.signal?.reason);
  if (options.signal?.aborted) abort();
  else options.signal?.addEventListener('abort', abort, { once: true });
  const waiting: ChatDelta[] = [];
  let wake: () => void = () => {};
  const onDelta = (delta: ChatDelta): void => {
    waiting.push(delta);
    wake();
  };
  let isDone = false;
  const answer = model.generate(request, { signal: left.signal, onDelta }).finally(() => {
    isDone = true;
    wake();
  });
  answer.catch(() => {});
  try {
    while (true) {
      for (let delta = waiting.shift(); delta !== undefined; delta = waiting.shift()) yield delta;
      if (isDone) return await answer;
      await new Promise<void>((resolve) => {
        wake = resolve;
        if (isDone || waiting.length > 0) resolve();
      });
    }
  } finally {
    options.signal?.removeEventListener('abort', abort);
    if (!isDone) left.abort(new Error('The reader left the stream.'));
  }
}
