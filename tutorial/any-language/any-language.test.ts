import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { ConfigError, createRandom, type Task } from '@agentjet/core';
import { startEndpointServer } from '@agentjet/endpoint';
import type { Tuner } from '@agentjet/rollout';
import { openScriptedEpisode } from '@agentjet/rollout/testing';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { createLakeMap } from '../frozen-lake/frozen-lake.js';
import { BashWorkflow, PythonWorkflow } from './any-language-workflow.js';
import { ProgramPool } from './foreign-agent.js';

const canRun = (command: string, ...args: string[]): boolean => spawnSync(command, args).status === 0;
const beside = (file: string): string => path.join(import.meta.dirname, file);

/** Sets AJET_PYTHON before the workflow is imported, because the workflow reads it at import. */
const python = vi.hoisted(() => {
  const installed = `${import.meta.dirname}/../../test/endpoint/python/.venv/bin/python`;
  process.env['AJET_PYTHON'] ??= process.getBuiltinModule('node:fs').existsSync(installed) ? installed : 'python3';
  return process.env['AJET_PYTHON'];
});

let server: Awaited<ReturnType<typeof startEndpointServer>>;
beforeAll(async () => {
  server = await startEndpointServer();
});
afterAll(() => server.close());

/** Opens an episode whose tuner also serves the model over HTTP. */
function openServedEpisode() {
  return openScriptedEpisode({ replies: ['up', 'left', 'sideways'], endpointHost: server });
}

const task: Task = { taskId: 't', mainQuery: '', initMessages: [], metadata: { map: createLakeMap(createRandom(3)) } };

describe.each([
  ['bash and curl', BashWorkflow, canRun('bash', '-c', 'curl --version')],
  ['python and its openai package', PythonWorkflow, canRun(python, '-c', 'import openai')],
] as const)('an agent in %s', (_name, AgentWorkflow, isInstalled) => {
  it.skipIf(!isInstalled)(
    'walks until it says no direction, and every token it was answered is recorded once',
    async () => {
      const episode = openServedEpisode();
      const output = await new AgentWorkflow().execute(task, episode.tuner);
      const { stats, samples } = episode.finish();
      expect(output.reward === 1 || stats.calls <= 3).toBe(true);
      expect(stats.calls).toBeGreaterThan(0);
      expect(stats.trainedTokens).toBe(stats.generatedTokens);
      expect(samples).toHaveLength(1);
    },
  );

  it.skipIf(!isInstalled)('fails with what the program said when its model is gone', async () => {
    const episode = openServedEpisode();
    const late: Tuner = { ...episode.tuner, signal: new AbortController().signal };
    episode.end();
    await expect(new AgentWorkflow().execute(task, late)).rejects.toThrow(/ended without an answer[\s\S]*410/);
  });

  it.skipIf(!isInstalled)('serves one walk after the other, also after one that failed', async () => {
    for (const end of [false, true, false]) {
      const episode = openServedEpisode();
      if (end) episode.end();
      const walk = new AgentWorkflow().execute(task, { ...episode.tuner, signal: new AbortController().signal });
      if (end) await expect(walk).rejects.toThrow();
      else expect((await walk.then(() => episode.finish())).samples).toHaveLength(1);
    }
  });

  it.skipIf(!isInstalled)('ends with its episode', async () => {
    const episode = openScriptedEpisode({
      replies: [{ text: 'far too slow', tokenDelayMs: 200 }],
      endpointHost: server,
    });
    void expect
      .poll(() => episode.engine.numRunning)
      .toBe(1)
      .then(() => episode.end());
    await expect(new AgentWorkflow().execute(task, episode.tuner)).rejects.toThrow(/ended without an answer/);
    await expect.poll(() => episode.engine.numRunning).toBe(0);
    expect(episode.finish().samples).toHaveLength(0);
  });
});

describe('what is not installed stops the run, and says so', () => {
  const access = { baseUrl: 'http://127.0.0.1:1/v1', apiKey: 'k', model: 'm' };
  const failure = async (...command: readonly [string, ...string[]]): Promise<unknown> => {
    const { signal } = new AbortController();
    return new ProgramPool(command)
      .walk(access, signal, (agent) => agent.ask('What do you see?'))
      .catch((error: unknown) => error);
  };

  it('python', async () => {
    const error = await failure('no-such-python', beside('agent.py'));
    expect(error).toBeInstanceOf(ConfigError);
    expect(String(error)).toMatch(
      /`no-such-python .*agent\.py` cannot be started: .*(ENOENT|EACCES)\. Install no-such-python/,
    );
  });

  it.skipIf(!canRun('python3', '--version'))('the openai package', async () => {
    const error = await failure('python3', '-I', '-S', beside('agent.py'));
    expect(error).toBeInstanceOf(ConfigError);
    expect(String(error)).toMatch(/agent\.py needs the openai package: \S+ -m pip install openai/);
  });

  it.skipIf(!canRun('/usr/bin/env', '/bin/bash', '--version'))('curl', async () => {
    const error = await failure('/usr/bin/env', '-i', 'PATH=/nonexistent', '/bin/bash', beside('agent.sh'));
    expect(error).toBeInstanceOf(ConfigError);
    expect(String(error)).toMatch(/agent\.sh needs curl, which is not installed/);
  });
});
