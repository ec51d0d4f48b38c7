import { setImmediate as nextTurn } from 'node:timers/promises';
import { type ChatModel, EngineError } from '@agentjet/core';
import { createChatTokenizer } from '@agentjet/tokenizer';
import { createChatTokenizerFiles } from '@agentjet/tokenizer/testing';
import { expect, it } from 'vitest';
import type { Episode, Tuner } from '../contract.js';
import { createScriptedEngine, type ScriptedReply } from '../testing.js';
import type { WorkflowSource } from '../workflow.js';
import { runEpisode } from './run-episode.js';
import { RunningCalls } from './running-calls.js';

const chatTokenizer = createChatTokenizer(createChatTokenizerFiles('qwen3'));

type Options = { readonly replies?: readonly ScriptedReply[]; readonly trainableTargets?: readonly string[] };

function run(workflow: WorkflowSource, { replies = ['hello'], trainableTargets }: Options = {}): Promise<Episode> {
  const engine = createScriptedEngine({ chatTokenizer, replies });
  const sampling = { temperature: 1, topP: 1, topK: 0, maxTokens: 100 };
  return runEpisode(
    { taskId: 't1', mainQuery: 'hi', initMessages: [], metadata: {} },
    { workflow, trainableTargets, policy: { kind: 'engine', engine, chatTokenizer }, sampling, timeoutMs: 30_000 },
    { episodeId: 'e1', repeatIndex: 0, seed: 3 },
  );
}

const messages = [{ role: 'user', content: 'hi' } as const];
const openModel = (tuner: Tuner, agentName = 'a'): ChatModel => tuner.selectModel({ agentName }, (model) => model);
const swallow = async (work: Promise<unknown>): Promise<void> => void (await work.catch(() => undefined));

/** Acts as a framework's model that refuses an option before it asks the tuned model. */
class NativeModel {
  readonly #model: ChatModel;

  constructor(model: ChatModel) {
    this.#model = model;
  }

  async ask(option?: string): Promise<unknown> {
    if (option !== undefined) throw new Error(`option "${option}" is not known`);
    return this.#model.generate({ messages }).catch((cause: unknown) => {
      throw new Error('The framework failed.', { cause });
    });
  }

  async *stream(option?: string): AsyncGenerator<unknown> {
    yield await this.ask(option);
  }
}
const openNative = (tuner: Tuner, agentName = 'a'): NativeModel =>
  tuner.selectModel<NativeModel>({ agentName }, (model) => new NativeModel(model), ['ask', 'stream']);

it('a call that failed while the episode continued is counted, with its agent and message', async () => {
  const { swallowedErrors } = await run(async (_task, tuner) => {
    for (const name of ['a', 'a', 'b'])
      await swallow(openModel(tuner, name).generate({ messages, sampling: { topP: 7 } }));
    return { reward: 1 };
  });
  const message = 'Sampling option topP is 7, which is not a number in (0, 1].';
  expect(swallowedErrors).toEqual([
    { agentName: 'a', code: 'bad_request', message, times: 2 },
    { agentName: 'b', code: 'bad_request', message, times: 1 },
  ]);
});

it('what a framework refuses before it asks the model is counted once, and so is what the model throws through it', async () => {
  const episode = await run(
    async (_task, tuner) => {
      const native = openNative(tuner);
      await swallow(native.ask('toolCallId'));
      await swallow(native.stream('version').next());
      await swallow(native.ask());
      await native.ask();
      return { reward: 1 };
    },
    { replies: [{ text: '', error: new EngineError('failed', 'busy') }, 'fine'] },
  );
  expect(episode.calls).toMatchObject({ answered: 1, failed: 3 });
  expect(episode.swallowedErrors).toEqual([
    { agentName: 'a', code: 'failed', message: 'option "toolCallId" is not known', times: 1 },
    { agentName: 'a', code: 'failed', message: 'option "version" is not known', times: 1 },
    { agentName: 'a', code: 'failed', message: 'busy', times: 1 },
  ]);
});

it('calls of a model that does not learn are counted too', async () => {
  const debugModel: ChatModel = { name: 'big', generate: async () => Promise.reject(new Error('no such model')) };
  const { swallowedErrors } = await run(
    async (_task, tuner) => {
      await openModel(tuner).generate({ messages });
      await swallow(
        tuner.selectModel({ agentName: 'judge', debugModel }, (model) => model, ['generate']).generate({ messages }),
      );
      return { reward: 1 };
    },
    { trainableTargets: ['a'] },
  );
  expect(swallowedErrors).toEqual([{ agentName: 'judge', code: 'failed', message: 'no such model', times: 1 }]);
});

it('a call that its caller aborted is not one, and neither is one that the episode failed with', async () => {
  const aborted = await run(async (_task, tuner) => {
    await swallow(openModel(tuner).generate({ messages }, { signal: AbortSignal.abort() }));
    return { reward: 1 };
  });
  expect(aborted).not.toHaveProperty('swallowedErrors');
  const failed = await run(async (_task, tuner) => {
    await swallow(openModel(tuner).generate({ messages: [] }));
    await openModel(tuner).generate({ messages, sampling: { topP: 7 } });
    return { reward: 1 };
  });
  expect(failed.status).toBe('failed');
  expect(failed.swallowedErrors).toMatchObject([{ message: expect.stringContaining('no messages'), times: 1 }]);
});

it('a call that is still running when the workflow returns is listed, because its await may be missing', async () => {
  const { status, swallowedErrors } = await run(async (_task, tuner) => {
    void swallow(openModel(tuner).generate({ messages }));
    return { reward: 0 };
  });
  expect(status).toBe('completed');
  expect(swallowedErrors).toEqual([
    {
      agentName: 'a',
      code: 'unawaited',
      message: expect.stringMatching(/running.*Is an await missing/),
      times: 1,
    },
  ]);
});

it('a call that a client begins some turns after the workflow has returned is listed too', async () => {
  const running = new RunningCalls();
  const model = running.watch({ name: 'm', generate: () => new Promise(() => undefined) }, 'a');
  void nextTurn().then(() => model.generate({ messages }));
  const missing = { agentName: 'a', code: 'unawaited', message: expect.stringContaining('Is an await missing?') };
  expect(await running.noteReturn()).toMatchObject([missing]);
  expect(await new RunningCalls().noteReturn()).toEqual([]);
});

it('a field that is a Promise is refused by name, with the call that it waits for', async () => {
  const episode = await run(async (_task, tuner) => {
    const answer = openModel(tuner).generate({ messages });
    return { reward: answer.then(() => 1) as unknown as number };
  });
  expect(episode).toMatchObject({
    status: 'failed',
    error: { message: expect.stringMatching(/returned reward as a Promise\. Await it: .*this call was running/) },
  });
});
