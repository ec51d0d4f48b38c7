import { addingModel } from '@agentjet/rollout/testing';
import { createTaskReader, type EndpointHost, type Policy, type WorkflowFunction, limitCalls } from '@agentjet/rollout';
import { expect, it } from 'vitest';
import { createConfig } from '@agentjet/inputs/testing';
import { createPlaceKeeper, WorkerCount } from '@agentjet/local-run';
import type { JobEvent, EpisodeTranscript } from '@agentjet/records';
import { debugJob } from './debug-job.js';

const policy: Policy = { kind: 'chat', model: addingModel };
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
  const transcripts: EpisodeTranscript[] = [];
  const notices: string[] = [];
  const emit = (event: JobEvent): void => {
    if (event.type === 'transcript') transcripts.push(event.transcript);
    if (event.type === 'notice') notices.push(event.message);
  };
  const { maxSteps } = config.rollout.multiTurn;
  const wrapModel = maxSteps === null ? undefined : limitCalls(maxSteps);
  const keeper = createPlaceKeeper(config, { onNotice: () => undefined });
  const workers = new WorkerCount({ ...config.rollout, samplesWide: false });
  const shared = { config, workflow: given, judge: undefined, policy, wrapModel, endpointHost, keeper, emit, workers };
  const result = await debugJob(shared, { reader });
  return { result, transcripts, notices };
}

it('runs one episode of each of the first tasks, and reports each with its calls', async () => {
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

it('shows both sides of a game, the one that does not learn among its calls', async () => {
  const config = createConfig({ trainableTargets: ['player'], debug: { debugMaxParallel: 1, debugFirstNTasks: 1 } });
  const game: WorkflowFunction = async (task, tuner) => {
    const ask = { messages: [{ role: 'user', content: task.mainQuery }] } as const;
    await tuner.selectModel({ agentName: 'player' }, (model) => model).generate(ask);
    const writer = { ...addingModel, name: 'gpt' };
    await tuner.selectModel({ agentName: 'writer', debugModel: writer }, (model) => model, ['generate']).generate(ask);
    await tuner.selectModel({ agentName: 'player' }, (model) => model).generate(ask);
    return { reward: 1 };
  };
  const { transcripts } = await debug(game, config);
  expect(transcripts[0]?.calls).toMatchObject([
    { agentName: 'player' },
    { agentName: 'writer', untrainedModel: 'gpt', request: { messages: [{ content: 'What is 1+2, a?' }] } },
    { agentName: 'player' },
  ]);
});

it('says so if no agent asked a tuned model for anything, as with a misspelt target', async () => {
  const config = createConfig({ trainableTargets: ['sovler'], debug: { debugMaxParallel: 1 } });
  const untrained: WorkflowFunction = async (_task, tuner) => {
    await tuner
      .selectModel({ agentName: 'solver', debugModel: addingModel }, (model) => model)
      .generate({ messages: [] });
    return { reward: 1 };
  };
  const { notices } = await debug(untrained, config);
  expect(notices).toEqual([expect.stringContaining('trainable_targets, which is [sovler], names its target')]);
  expect((await debug(addUp)).notices).toEqual([]);
});

it('fails an episode that makes more model calls than multi_turn.max_steps', async () => {
  const config = createConfig({ rollout: { multiTurn: { maxSteps: 1 } }, debug: { debugFirstNTasks: 1 } });
  const { result, transcripts } = await debug(addUp, config);
  expect(result.failedEpisodes).toBe(1);
  expect(transcripts).toMatchObject([{ episode: { error: { code: 'too_many_calls' } } }]);
});
