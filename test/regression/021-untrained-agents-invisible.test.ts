import { asModel as asAiSdkModel } from '@agentjet/ai-sdk';
import { asModel as asLangGraphModel } from '@agentjet/langgraph';
import { runEpisode, type Policy, type UntrainedCall, type WorkflowSource } from '@agentjet/rollout';
import type { LanguageModelV3 } from '@ai-sdk/provider';
import { HumanMessage, SystemMessage } from '@langchain/core/messages';
import { FakeListChatModel } from '@langchain/core/utils/testing';
import { expect, it } from 'vitest';

/** Nothing was kept of agents that do not learn: the author of a game with two sides saw half of it. */

const policy: Policy = {
  kind: 'chat',
  model: { name: 'not asked', generate: () => Promise.reject(new Error('not asked')) },
};

async function callsOf(workflow: WorkflowSource): Promise<readonly UntrainedCall[]> {
  const episode = await runEpisode(
    { taskId: 't', mainQuery: '', initMessages: [], metadata: {} },
    {
      workflow,
      policy,
      sampling: { temperature: 1, topP: 1, topK: 0, maxTokens: 9 },
      timeoutMs: 30_000,
      trainableTargets: ['player'],
    },
    { episodeId: 'e', repeatIndex: 0, seed: 1 },
  );
  expect(episode.status).toBe('completed');
  return episode.untrainedCalls ?? [];
}

it('keeps what a LangChain model is asked and answers, invoked or streamed', async () => {
  const calls = await callsOf(async (_task, tuner) => {
    const debugModel = new FakeListChatModel({ responses: ['Guilty.', 'Streamed.'] });
    const model = asLangGraphModel(tuner, { agentName: 'villager', debugModel });
    await model.invoke([new SystemMessage('You vote.'), new HumanMessage('Who?')]);
    for await (const chunk of await model.stream('And now?')) expect(chunk).toBeDefined();
    return { reward: 1 };
  });
  expect(calls[0]).toMatchObject({
    agentName: 'villager',
    messages: [
      { role: 'system', content: 'You vote.' },
      { role: 'user', content: 'Who?' },
    ],
    answer: { role: 'assistant', content: 'Guilty.' },
  });
  expect(calls[1]?.messages).toEqual([{ role: 'user', content: 'And now?' }]);
});

it('keeps what a model of the AI SDK is asked and answers, with its tool calls', async () => {
  const debugModel: LanguageModelV3 = {
    specificationVersion: 'v3',
    provider: 'test',
    modelId: 'test-model',
    supportedUrls: {},
    doGenerate: () =>
      Promise.resolve({
        content: [
          { type: 'text', text: 'Let me look.' },
          { type: 'tool-call', toolCallId: 'c1', toolName: 'look_up', input: '{"name":"Ann"}' },
        ],
        finishReason: { unified: 'tool-calls', raw: undefined },
        usage: {
          inputTokens: { total: 1, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
          outputTokens: { total: 1, text: undefined, reasoning: undefined },
        },
        warnings: [],
      }),
    doStream: () => Promise.reject(new Error('not asked')),
  };
  const calls = await callsOf(async (_task, tuner) => {
    const model = asAiSdkModel(tuner, { agentName: 'seer', debugModel });
    await model.doGenerate({ prompt: [{ role: 'user', content: [{ type: 'text', text: 'Who is it?' }] }] });
    return { reward: 1 };
  });
  expect(calls).toMatchObject([
    {
      agentName: 'seer',
      model: 'test-model',
      messages: [{ role: 'user', content: 'Who is it?' }],
      answer: { content: 'Let me look.\nlook_up({"name":"Ann"})' },
    },
  ]);
});
