import type { ScriptedEpisode } from '@agentjet/rollout/testing';
import { BrokenPromise } from './broken-promise.js';

/**
 * Throws, with the text around the first difference, unless a call's prompt continues exactly the tokens of an earlier
 * call.
 */
export function expectContinuation({ engine, chatTokenizer }: ScriptedEpisode, earlier: number, later: number): void {
  const before = engine.requests[earlier];
  const prompt = engine.requests[later]?.request.promptIds;
  if (before?.completion === undefined || prompt === undefined) {
    throw new BrokenPromise(
      `The engine received ${engine.requests.length} model calls, but this check needs at least ${later + 1}. Send every call of the framework to the engine.`,
    );
  }
  const seen = [...before.request.promptIds, ...before.completion.ids];
  const at = seen.findIndex((id, index) => prompt[index] !== id);
  if (at === -1) return;
  const excerpt = (ids: ArrayLike<number>): string =>
    JSON.stringify(chatTokenizer.tokenizer.decode(Array.from(ids).slice(Math.max(0, at - 12), at + 12)));
  const author = at < before.request.promptIds.length ? 'the earlier prompt' : 'the model';
  throw new BrokenPromise(
    `The later prompt differs from the earlier call at token ${at}: ${author} has ${excerpt(seen)}, the later prompt has ${excerpt(prompt)}.`,
  );
}
