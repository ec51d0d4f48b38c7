import type { ChatModel } from '@agentjet/core';
import { createTaskReader, type EndpointHost, type Policy, type WorkflowFunction } from '@agentjet/rollout';
import { expect, it } from 'vitest';
import { createPlaceKeeper } from '../rollout/place-keeper.js';
import { limitCalls } from '../rollout/call-limit.js';
import type { JobEvent } from '../events.js';
import { createConfig } from '../testing/test-composition.js';
import { debugJob } from './debug-job.js';
import type { Transcript } from './transcript-recorder.js';

/** Calls a tool first, then answers. */
const scripted: ChatModel = {
  name: 'scripted',
  generate: async ({ messages }) => ({
    id: 'x',
    model: 'scripted',
    message:
      messages.at(-1)?.role === 'tool'
        ? { role: 'assistant', content: 'It is 3.' }
        : { role: 'assistant', content: '', toolCalls: [{ id: 'c1', name: 'add', arguments: '{"a":1,"b":2}' }] },
    finishReason: 'stop',
    usage: { promptTokens: 10, completionTokens: 5 },
  }),
};
const policy: Policy = { kind: 'chat', model: scripted };
const endpointHost: EndpointHost = { open: () => ({ baseUrl: '', apiKey: '', model: '' }) };
const reader = createTaskReader({
  training: ['a', 'b', 'c'].map((taskId) => ({ taskId, mainQuery: `What is 1+2, ${taskId}?` })),
});

const addUp: WorkflowFunction = async (task, tuner) => {
  const model = tuner.selectModel({ agentName: 'solver' }, (tuned) => tuned);
  const question = { role: 'user', content: task.mainQuery } as const;
  const { message } = await model.generate({ messages: [question] });
  const result = { role: 'tool', toolCallId: 'c1', content: '3' } as const;
  await model.generate({ messages: [question, message, result] });
  if (task.taskId === 'b') throw new Error('the board is broken');
  return { reward: 1 };
};

async function debug(given: WorkflowFunction, config = createConfig({ debug: { debugMaxParallel: 1 } })) {
  const transcripts: Transcript[] = [];
  const emit = (event: JobEvent): void => void (event.type === 'transcript' && transcripts.push(event.transcript));
  const { maxSteps } = config.rollout.multiTurn;
  const wrapModel = maxSteps === null ? undefined : limitCalls(maxSteps);
  const keeper = createPlaceKeeper(config, { onNotice: () => undefined });
  const shared = { config, workflow: given, judge: undefined, policy, wrapModel, endpointHost, keeper, emit };
  const result = await debugJob(shared, { reader });
  return { result, transcripts };
}

it('runs one episode of each of the first tasks, and tells of each with its calls', async () => {
  const { result, transcripts } = await debug(addUp);
  expect(result).toEqual({ episodes: 2, failedEpisodes: 1 });
  expect(transcripts.map(({ episode, calls }) => [episode.episodeId, episode.status, calls.length])).toEqual([
    ['a-r0', 'completed', 2],
    ['b-r0', 'failed', 2],
  ]);
  expect(transcripts[0]?.calls.at(-1)).toMatchObject({
    agentName: 'solver',
    request: { messages: [{ role: 'user' }, { role: 'assistant' }, { role: 'tool' }] },
    response: { message: { content: 'It is 3.' } },
  });
});

it('fails an episode that makes more model calls than multi_turn.max_steps', async () => {
  const config = createConfig({ rollout: { multiTurn: { maxSteps: 1 } }, debug: { debugFirstNTasks: 1 } });
  const { result, transcripts } = await debug(addUp, config);
  expect(result.failedEpisodes).toBe(1);
  expect(transcripts).toMatchObject([{ episode: { error: { code: 'too_many_calls' } } }]);
});
