import { spawnSync } from 'node:child_process';
import { createRandom, type Task } from '@agentjet/core';
import { startEndpointServer } from '@agentjet/endpoint';
import type { Tuner } from '@agentjet/rollout';
import { openScriptedEpisode } from '@agentjet/rollout/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createLakeMap } from '../01-frozen-lake/frozen-lake.js';
import { BashWorkflow, PythonWorkflow } from './any-language-workflow.js';

const canRun = (command: string, ...args: string[]): boolean => spawnSync(command, args).status === 0;
const python = process.env['AJET_PYTHON'] ?? 'python3';

let server: Awaited<ReturnType<typeof startEndpointServer>>;
beforeAll(async () => {
  server = await startEndpointServer();
});
afterAll(() => server.close());

/** A scripted episode whose tuner also serves its model over HTTP. */
function openServedEpisode() {
  const episode = openScriptedEpisode({ replies: ['up', 'left', 'sideways'] });
  const tuner: Tuner = {
    ...episode.tuner,
    asOpenAIEndpoint: (options) => {
      const model = episode.tuner.selectModel(options, (tuned) => tuned);
      return server.open({ episodeId: episode.tuner.episodeId, agentName: options.agentName, model, signal: episode.tuner.signal });
    },
  };
  return { ...episode, tuner };
}

const task: Task = { taskId: 't', mainQuery: '', initMessages: [], metadata: { map: createLakeMap(createRandom(3)) } };

describe.each([
  ['bash and curl', BashWorkflow, canRun('bash', '-c', 'curl --version')],
  ['python and its openai package', PythonWorkflow, canRun(python, '-c', 'import openai')],
] as const)('an agent in %s', (_name, AgentWorkflow, isInstalled) => {
  it.skipIf(!isInstalled)('walks until it says no direction, and every token it was answered is recorded once', async () => {
    const episode = openServedEpisode();
    const output = await new AgentWorkflow().execute(task, episode.tuner);
    const { stats, samples } = episode.finish();
    expect(output.reward === 1 || stats.calls <= 3).toBe(true);
    expect(stats.calls).toBeGreaterThan(0);
    expect(stats.trainedTokens).toBe(stats.generatedTokens);
    expect(samples).toHaveLength(1);
  });

  it.skipIf(!isInstalled)('fails with what the program said when its model is gone', async () => {
    const episode = openServedEpisode();
    const late: Tuner = { ...episode.tuner, signal: new AbortController().signal };
    episode.end();
    await expect(new AgentWorkflow().execute(task, late)).rejects.toThrow(/ended without an answer[\s\S]*410/);
  });
});
