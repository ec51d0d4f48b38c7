import { addingModel } from '@agentjet/rollout/testing';
import type { ChatModel } from '@agentjet/core';
import { startEndpointServer } from '@agentjet/endpoint';
import type { WorkflowFunction } from '@agentjet/rollout';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { JobEvent } from '@agentjet/records';
import { AgentJetJob } from '../job.js';
import type { ConfigInput } from '../registrations.js';
import { formatEvent } from './event-lines.js';

let server: Awaited<ReturnType<typeof startEndpointServer>>;
beforeAll(async () => {
  server = await startEndpointServer();
});
afterAll(() => server.close());

const addUp: WorkflowFunction = async (task, tuner) => {
  const model = tuner.selectModel({ agentName: 'solver' }, (tuned) => tuned);
  const question = { role: 'user', content: task.mainQuery } as const;
  const { message } = await model.generate({ messages: [question] });
  const result = { role: 'tool', toolCallId: 'c1', content: '3' } as const;
  await model.generate({ messages: [question, message, result] });
  if (task.taskId === 'b') throw new Error('the board is broken');
  return { reward: 1 };
};

/** Runs the workflow with backbone `debug` on a model at a real address. Returns the printed text and the result. */
async function debug(workflow: WorkflowFunction, config: ConfigInput = {}, model: ChatModel = addingModel) {
  const lines: string[] = [];
  const end = new AbortController();
  const { baseUrl, apiKey, model: served } = server.open({ episodeId: 'e', agentName: 'a', model, signal: end.signal });
  const job = new AgentJetJob({ backbone: 'debug', config })
    .setConfig({ debug: { debugMaxParallel: 1, baseUrl, apiKey, model: served } })
    .setWorkflow(workflow)
    .setData({ training: ['a', 'b', 'c'].map((taskId) => ({ taskId, mainQuery: `What is 1+2, ${taskId}?` })) });
  const onEvent = (event: JobEvent): void => void lines.push(formatEvent(event) ?? '');
  const ending = await job.tune({ onEvent }).then(
    () => 'all completed',
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  );
  end.abort();
  return { ending, text: lines.filter((line) => line !== '').join('\n') };
}

it('runs the first tasks and prints each episode once, with the line where it broke', async () => {
  const { ending, text } = await debug(addUp);
  expect(ending).toBe('1 of 2 episodes failed; see above.');
  expect(text).toContain('episode a-r0, task a');
  expect(text.match(/solver \| user +What is 1\+2, a\?/g)).toHaveLength(1);
  expect(text).toMatch(/solver > tool call +add\(\{"a":1,"b":2\}\)/);
  expect(text).toMatch(/solver \| tool +3/);
  expect(text).toMatch(/solver > assistant +It is 3\./);
  expect(text).toContain('reward 1  success yes  (2 calls');
  expect(text).toMatch(/failed \(workflow_failed\): .*the board is broken\n +at .*debug-run\.test\.ts:\d+:\d+/);
});

it('says when an agent sends a different history', async () => {
  const { text } = await debug(async (_, tuner) => {
    const model = tuner.selectModel({ agentName: 'solver' }, (tuned) => tuned);
    await model.generate({ messages: [{ role: 'user', content: 'one' }] });
    await model.generate({ messages: [{ role: 'user', content: 'two' }] });
    return { reward: 0 };
  });
  expect(text).toContain('solver sends a different history:');
});

it('shows what it can of a value that is not a request, and what was wrong with it', async () => {
  const circular: Record<string, unknown> = { role: 'user', content: 'hello' };
  circular['self'] = circular;
  for (const request of [
    'hello',
    undefined,
    {},
    { messages: 'hello' },
    { messages: [null, 'hello', { text: 'hi' }, { role: 'user', content: [{ type: 'text', text: 'hi' }] }, circular] },
  ]) {
    const { ending, text } = await debug(async (_, tuner) => {
      await tuner.selectModel({ agentName: 'solver' }, (tuned) => tuned).generate(request as never);
      throw new Error('the workflow continued');
    });
    expect(ending).toContain('2 of 2 episodes failed');
    expect(text).toMatch(/^--- episode a-r0/);
    expect(text).toMatch(/\nfailed \(/);
  }
});

it('shows a call that never got its answer', async () => {
  const hanging: ChatModel = { name: 'hanging', generate: () => new Promise(() => undefined) };
  const { text } = await debug(addUp, { rollout: { episodeTimeout: 0.5 }, debug: { debugFirstNTasks: 1 } }, hanging);
  expect(text).toMatch(
    /solver \| user +What is 1\+2, a\?\nsolver \| error +no answer before the episode ended\nfailed \(timeout\)/,
  );
});

it('fails an episode that makes more model calls than multi_turn.max_steps', async () => {
  const { ending, text } = await debug(addUp, {
    rollout: { multiTurn: { maxSteps: 1 } },
    debug: { debugFirstNTasks: 1 },
  });
  expect(ending).toContain('1 of 1 episodes failed');
  expect(text).toContain(
    'failed (too_many_calls): Agent "solver" makes model call 2 of its episode, but rollout.multi_turn.max_steps is 1.',
  );
});
