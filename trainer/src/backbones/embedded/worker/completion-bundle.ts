import type { Completion } from '@agentjet/core';
import type { CompletionBundle } from './protocol.js';

export type CallCompletion = { readonly call: number; readonly completion: Completion };

export function bundle(ended: readonly CallCompletion[]): CompletionBundle {
  const lengths = ended.map(({ completion }) => completion.ids.length);
  const total = lengths.reduce((sum, length) => sum + length, 0);
  const [ids, logprobs] = [new Int32Array(total), new Float32Array(total)];
  let offset = 0;
  for (const { completion } of ended) {
    ids.set(completion.ids, offset);
    logprobs.set(completion.logprobs, offset);
    offset += completion.ids.length;
  }
  return {
    calls: ended.map(({ call }) => call),
    lengths,
    finishReasons: ended.map(({ completion }) => completion.finishReason),
    policyVersions: ended.map(({ completion }) => completion.policyVersion),
    timings: ended.map(({ completion }) => completion.timing ?? null),
    ids,
    logprobs,
  };
}

export function unbundle({
  calls,
  lengths,
  finishReasons,
  policyVersions,
  timings,
  ids,
  logprobs,
}: CompletionBundle): readonly CallCompletion[] {
  let end = 0;
  return calls.map((call, index) => {
    const start = end;
    end += lengths[index] ?? 0;
    const finishReason = finishReasons[index] ?? 'stop';
    const timing = timings[index];
    return {
      call,
      completion: {
        ids: ids.slice(start, end),
        logprobs: logprobs.slice(start, end),
        finishReason,
        policyVersion: policyVersions[index] ?? 0,
        ...(timing && { timing }),
      },
    };
  });
}
