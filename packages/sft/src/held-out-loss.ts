import type { HeldOutLoss } from '@agentjet/records';
import { BackboneError, type Backbone } from '@agentjet/core';
import type { Example } from './example.js';

/** The number of tokens in a request. It is limited so that an interrupt does not have to wait for all tokens. */
const tokensAtOnce = 16_384;

/**
 * Measures the loss. Resolves with undefined if the signal aborts. Throws BackboneError `non_finite_loss` if the loss
 * is not finite.
 */
export async function measureHeldOut(
  backbone: Backbone,
  examples: readonly Example[],
  { step, signal }: { readonly step: number; readonly signal?: AbortSignal | undefined },
): Promise<HeldOutLoss | undefined> {
  const startedAt = performance.now();
  let sum = 0;
  let tokens = 0;
  for (const rows of inChunks(examples.flatMap((example) => example.rows))) {
    if (signal?.aborted) return undefined;
    const logprobs = await backbone.logprobs(rows);
    rows.forEach(({ lossMask }, row) =>
      lossMask.forEach((mask, at) => {
        if (mask === 0) return;
        sum -= logprobs[row]?.[at] ?? Number.NaN;
        tokens++;
      }),
    );
  }
  const loss = sum / tokens;
  if (!Number.isFinite(loss))
    throw new BackboneError('non_finite_loss', `The loss on the held-out examples after step ${step} is ${loss}.`);
  return { step, loss, tokens, examples: examples.length, seconds: (performance.now() - startedAt) / 1000 };
}

function* inChunks<Row extends { readonly ids: Int32Array }>(rows: readonly Row[]): Generator<readonly Row[]> {
  let chunk: Row[] = [];
  let tokens = 0;
  for (const row of rows) {
    chunk.push(row);
    tokens += row.ids.length;
    if (tokens < tokensAtOnce) continue;
    yield chunk;
    [chunk, tokens] = [[], 0];
  }
  if (chunk.length > 0) yield chunk;
}
