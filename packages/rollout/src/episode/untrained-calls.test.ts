import type { ChatMessage, ChatModel, ChatResponse, Task } from '@agentjet/core';
import { createChatTokenizer } from '@agentjet/tokenizer';
import { createChatTokenizerFiles } from '@agentjet/tokenizer/testing';
import { describe, expect, it } from 'vitest';
import type { JudgeContext } from '../judge.js';
import { createScriptedEngine } from '../testing.js';
import { createFrozenTuner } from '../frozen-tuner.js';
import type { WorkflowSource } from '../workflow.js';
import { readAnswer, readMessages } from './read-call.js';
import { runEpisode, type EpisodeOptions } from './run-episode.js';

const chatTokenizer = createChatTokenizer(createChatTokenizerFiles('qwen3'));
const task: Task = { taskId: 't1', mainQuery: 'hi', initMessages: [], metadata: {} };
const sampling = { temperature: 1, topP: 1, topK: 0, maxTokens: 100 };
const engineOf = (replies: readonly string[]) => ({
  kind: 'engine' as const,
  engine: createScriptedEngine({ chatTokenizer, replies }),
  chatTokenizer,
});

function run(workflow: WorkflowSource, options: Partial<EpisodeOptions> = {}) {
  const common = { policy: engineOf(['hello']), sampling, timeoutMs: 30_000, trainableTargets: ['player'] };
  return runEpisode(task, { workflow, ...common, ...options }, { episodeId: 'e1', repeatIndex: 0, seed: 3 });
}

function createWriter(replies: readonly string[]): ChatModel {
  let next = 0;
  return {
    name: 'writer-model',
    generate: (): Promise<ChatResponse> => {
      const content = replies[next++];
      if (content === undefined) return Promise.reject(new Error('out of words'));
      const message = { role: 'assistant', content } as const;
      return Promise.resolve({
        id: content,
        model: 'w',
        message,
        finishReason: 'stop',
        usage: { promptTokens: 1, completionTokens: 1 },
      });
    },
  };
}

const user = (content: string): ChatMessage => ({ role: 'user', content });

describe('an agent that does not learn', () => {
  const debugModel = createWriter(['once', 'upon']);
  const workflow: WorkflowSource = async (_task, tuner) => {
    const writer = tuner.selectModel({ agentName: 'writer', debugModel }, (model) => model, ['generate']);
    const { message } = await writer.generate({ messages: [user('write')] });
    await writer.generate({ messages: [user('write'), message, user('on')] });
    await writer.generate({ messages: [user('again')] }).catch(() => undefined);
    return {};
  };

  it('is recorded: messages once, model, time, errors, and never trained', async () => {
    let context: JudgeContext | undefined;
    const judge: EpisodeOptions['judge'] = {
      judge: (_task, _output, given) => ((context = given), { reward: 1, isSuccess: true }),
    };
    const episode = await run(workflow, { judge });
    expect(episode).toMatchObject({ status: 'completed', samples: [] });
    expect(episode.untrainedCalls).toMatchObject([
      {
        agentName: 'writer',
        model: 'writer-model',
        repeatedMessages: 0,
        messages: [user('write')],
        answer: { content: 'once' },
      },
      { repeatedMessages: 2, messages: [user('on')], answer: { content: 'upon' } },
      { repeatedMessages: 0, messages: [user('again')], answer: null, error: 'out of words' },
    ]);
    for (const { beganMs, endedMs } of episode.untrainedCalls ?? []) expect(endedMs).toBeGreaterThanOrEqual(beganMs);
    expect(context?.transcripts).toEqual([{ agentName: 'writer', messages: [user('again')] }]);
  });

  it('is recorded where it is asked, though episodes share its model', async () => {
    const shared = createWriter(Array.from({ length: 8 }, (_, at) => `answer ${at}`));
    const asking: WorkflowSource = async (_task, tuner) => {
      const writer = tuner.selectModel({ agentName: 'writer', debugModel: shared }, (model) => model, ['generate']);
      await writer.generate({ messages: [user('one')] });
      await writer.generate({ messages: [user('two')] });
      return { reward: 1 };
    };
    const episodes = await Promise.all([run(asking), run(asking), run(asking)]);
    for (const { untrainedCalls = [] } of episodes)
      expect(untrainedCalls.map(({ messages }) => messages[0]?.content)).toEqual(['one', 'two']);
  });

  it('may be a frozen model next to the episode', async () => {
    const policy = engineOf(['frozen words']);
    const asking: WorkflowSource = async (_task, tuner) => {
      const frozen = createFrozenTuner(tuner, { policy, sampling, seed: 1 });
      const patient = frozen.selectModel({ agentName: 'patient' }, (model) => model);
      const doctor = tuner.selectModel({ agentName: 'doctor', debugModel: patient }, (model) => model, ['generate']);
      await doctor.generate({ messages: [user('where does it hurt')] });
      await patient.generate({ messages: [user('and now')] });
      return { reward: 1 };
    };
    const { untrainedCalls = [] } = await run(asking);
    expect(untrainedCalls.map(({ agentName, answer }) => [agentName, answer?.content])).toEqual([
      ['doctor', 'frozen words'],
      ['doctor', 'frozen words'],
    ]);
  });

  it('has no recorded calls if it made none', async () => {
    expect(await run(() => ({ reward: 1 }))).not.toHaveProperty('untrainedCalls');
  });
});

describe('a call in the words of a framework', () => {
  it.each<readonly [string, readonly unknown[]]>([
    ['a chat request', [{ messages: [{ role: 'system', content: 's' }, user('u')] }]],
    [
      'LangChain',
      [
        [
          { content: 's', getType: () => 'system' },
          { content: [{ type: 'text', text: 'u' }], getType: () => 'human' },
        ],
      ],
    ],
    [
      'the AI SDK',
      [
        {
          prompt: [
            { role: 'system', content: 's' },
            { role: 'user', content: [{ type: 'text', text: 'u' }] },
          ],
        },
      ],
    ],
    [
      'OpenAI Agents',
      [{ systemInstructions: 's', input: [{ role: 'user', content: [{ type: 'input_text', text: 'u' }] }] }],
    ],
    [
      'OpenAI',
      [
        {
          model: 'm',
          messages: [
            { role: 'developer', content: 's' },
            { role: 'user', content: 'u' },
          ],
        },
      ],
    ],
  ])('%s is read', (_name, args) => {
    expect(readMessages(args).map(({ role, content }) => [role, content])).toEqual([
      ['system', 's'],
      ['user', 'u'],
    ]);
  });

  it.each<readonly [string, unknown, string | undefined]>([
    ['a chat response', { message: { role: 'assistant', content: 'a' } }, 'a'],
    ['LangChain', { generations: [{ text: 'a', message: { content: 'a', tool_calls: [] } }] }, 'a'],
    [
      'the AI SDK',
      {
        content: [
          { type: 'reasoning', text: '' },
          { type: 'text', text: 'a' },
        ],
      },
      'a',
    ],
    ['the AI SDK with a call', { content: [{ type: 'tool-call', toolName: 'f', input: '{}' }] }, '\nf({})'],
    ['OpenAI Agents', { output: [{ role: 'assistant', content: [{ type: 'output_text', text: 'a' }] }] }, 'a'],
    ['OpenAI', { choices: [{ message: { content: 'a' } }] }, 'a'],
    [
      'OpenAI with a call',
      { choices: [{ message: { content: null, tool_calls: [{ function: { name: 'f', arguments: '{}' } }] } }] },
      '\nf({})',
    ],
    ['a stream', (async function* () {})(), undefined],
  ])('the answer of %s is read', (_name, result, text) => {
    expect(readAnswer(result)?.content).toBe(text);
  });
});
