import type { ChatMessage, ChatRequest, Engine } from '@agentjet/core';
import { createChatTokenizer } from '@agentjet/tokenizer';
import { createChatTokenizerFiles } from '@agentjet/tokenizer/testing';
import { describe, expect, it } from 'vitest';
import { openEpisode, type OpenEpisode } from '../episode/open-episode.js';
import type { RecordedCall } from './recorded-call.js';

const chatTokenizer = createChatTokenizer(createChatTokenizerFiles('qwen3'));
const idsOf = (text: string): Int32Array => Int32Array.from(chatTokenizer.tokenizer.encode(text));

/** An engine that answers on command, each call with different text. */
class HeldEngine implements Engine {
  readonly contextLength = 4096;
  readonly #held: (() => void)[] = [];
  #numCalls = 0;

  generate: Engine['generate'] = ({ signal }) => {
    const ids = Int32Array.from([
      ...idsOf(`answer ${this.#numCalls++}`),
      ...chatTokenizer.template.stopIds.slice(0, 1),
    ]);
    const logprobs = new Float32Array(ids.length).fill(-0.1);
    return new Promise((resolve, reject) => {
      signal?.addEventListener('abort', () => reject(new Error('aborted')), { once: true });
      this.#held.push(() => resolve({ ids, logprobs, finishReason: 'stop', policyVersion: 3 }));
    });
  };

  answer(index: number): void {
    this.#held[index]?.();
  }
}

function open(engine: Engine, onCall: (call: RecordedCall) => void): OpenEpisode {
  const sampling = { temperature: 1, topP: 1, topK: 0, maxTokens: 32 };
  const policy = { kind: 'engine' as const, engine, chatTokenizer };
  return openEpisode({ policy, sampling, requestSampling: 'ignore', onCall }, { episodeId: 'e', seed: 7 });
}

const agent = { agentName: 'main', targetTag: 'main' };
const say = (...texts: readonly string[]): ChatRequest => ({
  messages: texts.map((content, at): ChatMessage => ({ role: at % 2 === 0 ? 'user' : 'assistant', content })),
});

/**
 * Runs an episode with overlapping calls that commit in another order, an aborted call, a call that is not trained, and
 * a rewritten history.
 */
async function runEpisode(): Promise<{ readonly open: OpenEpisode; readonly calls: readonly RecordedCall[] }> {
  const calls: RecordedCall[] = [];
  const engine = new HeldEngine();
  const episode = open(engine, (call) => calls.push(call));
  const ask = (request: ChatRequest, signal?: AbortSignal) =>
    episode.createModel(agent).generate(request, signal === undefined ? {} : { signal });
  const controller = new AbortController();
  const [one, two, gone] = [ask(say('one')), ask(say('two')), ask(say('gone'), controller.signal)];
  controller.abort();
  await expect(gone).rejects.toThrow('aborted');
  engine.answer(1);
  const second = await two;
  const title = ask({ ...say('a title'), isTrained: false });
  engine.answer(3);
  await title;
  const next = ask(say('two', second.message.content, 'and?'));
  engine.answer(0);
  await one;
  engine.answer(4);
  await next;
  const other = ask(say('two', 'rewritten', 'and?'));
  engine.answer(5);
  await other;
  return { open: episode, calls };
}

describe('recorded calls', () => {
  it('give the same rows, turns and counts in a new episode, and continue with its numbers', async () => {
    const { open: before, calls } = await runEpisode();
    expect(calls.map(({ turn, commit, numCommitted }) => [turn, commit, numCommitted])).toEqual([
      [1, 0, 0],
      [3, null, 1],
      [0, 1, 0],
      [4, 2, 1],
      [5, 3, 3],
    ]);
    const later: RecordedCall[] = [];
    const engine = new HeldEngine();
    const after = open(engine, (call) => later.push(call));
    after.replay(calls);
    const next = after.createModel(agent).generate(say('new'));
    engine.answer(0);
    await next;
    expect(later).toMatchObject([{ turn: 6, index: 5, numCommitted: 4, commit: 4 }]);
    const again = open(new HeldEngine(), () => {});
    again.replay(calls);
    const [old, rebuilt] = [before.finish(), again.finish()];
    expect(rebuilt.samples).toEqual(old.samples);
    // The times of calls are not recorded with them.
    expect(rebuilt.turns).toEqual(old.turns.map(({ times: _times, ...turn }) => turn));
    expect(rebuilt.stats).toEqual(old.stats);
    expect(rebuilt.calls).toMatchObject({ answered: 5, untrained: 1 });
  });

  it('refuse to be replayed if a prompt comes out differently', async () => {
    const { calls } = await runEpisode();
    const changed = calls.map((call) => ({ ...call, promptHash: `${call.promptHash}x` }));
    expect(() => open(new HeldEngine(), () => {}).replay(changed)).toThrow('cannot be replayed');
  });
});
