import { createConfig, type ChatModel } from '@agentjet/core';
import { createTaskReader, type EndpointHost, type Policy, type WorkflowFunction } from '@agentjet/rollout';
import { expect, it } from 'vitest';
import { limitCalls } from '../call-limit.js';
import { formatEvent } from '../event-lines.js';
import type { JobEvent } from '../events.js';
import { debugJob } from './debug-job.js';

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
  const events: JobEvent[] = [];
  const workflow = limitCalls(given, config.rollout.multiTurn.maxSteps, endpointHost);
  const result = await debugJob(
    { config, workflow, judge: undefined, policy, endpointHost, emit: (event) => events.push(event) },
    { reader },
  );
  return {
    result,
    text: events
      .map(formatEvent)
      .filter((line) => line !== undefined)
      .join('\n'),
  };
}

it('runs the first tasks and prints each episode once, with the line where it broke', async () => {
  const { result, text } = await debug(addUp);
  expect(result).toEqual({ episodes: 2, failedEpisodes: 1 });
  expect(text).toContain('episode a-r0, task a');
  expect(text.match(/solver \| user +What is 1\+2, a\?/g)).toHaveLength(1);
  expect(text).toMatch(/solver > tool call +add\(\{"a":1,"b":2\}\)/);
  expect(text).toMatch(/solver \| tool +3/);
  expect(text).toMatch(/solver > assistant +It is 3\./);
  expect(text).toContain('reward 1  success yes  (2 calls');
  expect(text).toMatch(/failed \(workflow_failed\): .*the board is broken\n +at .*debug-job\.test\.ts:\d+:\d+/);
});

it('says when an agent sends another history', async () => {
  const { text } = await debug(async (_, tuner) => {
    const model = tuner.selectModel({ agentName: 'solver' }, (tuned) => tuned);
    await model.generate({ messages: [{ role: 'user', content: 'one' }] });
    await model.generate({ messages: [{ role: 'user', content: 'two' }] });
    return { reward: 0 };
  });
  expect(text).toContain('solver sends another history:');
});

it('shows what it can of a request that is none, and what was wrong with it', async () => {
  const circular: Record<string, unknown> = { role: 'user', content: 'hello' };
  circular['self'] = circular;
  for (const request of [
    'hello',
    undefined,
    {},
    { messages: 'hello' },
    { messages: [null, 'hello', { text: 'hi' }, { role: 'user', content: [{ type: 'text', text: 'hi' }] }, circular] },
  ]) {
    const { result, text } = await debug(async (_, tuner) => {
      await tuner.selectModel({ agentName: 'solver' }, (tuned) => tuned).generate(request as never);
      throw new Error('the workflow went on');
    });
    expect(result.failedEpisodes).toBe(2);
    expect(text).toMatch(/^--- episode a-r0/);
    expect(text).toMatch(/\nfailed \(/);
  }
});

it('shows a call that never got its answer', async () => {
  const hanging: Policy = { kind: 'chat', model: { name: 'hanging', generate: () => new Promise(() => undefined) } };
  const config = createConfig({ rollout: { episodeTimeout: 0.05 }, debug: { debugFirstNTasks: 1 } });
  const events: JobEvent[] = [];
  await debugJob(
    { config, workflow: addUp, judge: undefined, policy: hanging, endpointHost, emit: (event) => events.push(event) },
    { reader },
  );
  const text = events.map(formatEvent).join('\n');
  expect(text).toMatch(
    /solver \| user +What is 1\+2, a\?\nsolver \| error +no answer before the episode ended\nfailed \(timeout\)/,
  );
});

it('fails an episode that makes more model calls than multi_turn.max_steps', async () => {
  const config = createConfig({ rollout: { multiTurn: { maxSteps: 1 } }, debug: { debugFirstNTasks: 1 } });
  const { result, text } = await debug(addUp, config);
  expect(result.failedEpisodes).toBe(1);
  expect(text).toContain(
    'failed (too_many_calls): Agent "solver" makes model call 2 of its episode, but rollout.multi_turn.max_steps is 1.',
  );
});
