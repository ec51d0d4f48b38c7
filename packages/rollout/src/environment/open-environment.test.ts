import { ConfigError, EnvironmentError, EnvironmentOutage, isAgentsFailure, type Task } from '@agentjet/core';
import { describe, expect, it } from 'vitest';
import type { Tuner } from '../contract.js';
import { runEpisode, type EpisodeOptions } from '../episode/run-episode.js';
import type { Judge } from '../judge.js';
import type { Environment, Session } from './environment.js';
import { limitSessions } from './limit-sessions.js';

const task: Task = { taskId: 'a', mainQuery: 'count', initMessages: [], metadata: { target: 2 } };
const never = new Promise<never>(() => {});

type CounterOptions = { readonly onStep?: (action: unknown) => Promise<void> | void };

/** Creates an environment that counts steps up to the task's target, and also counts its sessions. */
function createCounter({ onStep = () => undefined }: CounterOptions = {}) {
  const seen = {
    opened: 0,
    open: 0,
    most: 0,
    steps: [] as unknown[],
    evaluations: 0,
    seeds: [] as number[],
    ids: [] as string[],
  };
  const environment: Environment = {
    name: 'counter',
    open: async ({ metadata }, { seed, episodeId }) => {
      seen.seeds.push(seed);
      seen.ids.push(episodeId);
      seen.opened++;
      seen.most = Math.max(seen.most, ++seen.open);
      let count = 0;
      const session: Session = {
        observation: { text: 'at 0' },
        tools: [],
        step: async (action) => {
          seen.steps.push(action);
          await onStep(action);
          count++;
          return { observation: { text: `at ${count}` }, reward: 0, isDone: count === metadata['target'] };
        },
        evaluate: async () => {
          seen.evaluations++;
          return { reward: count / 2, isSuccess: count === 2 };
        },
        close: () => void seen.open--,
      };
      return session;
    },
  };
  return { environment, seen };
}

function run(
  workflow: (task: Task, tuner: Tuner) => unknown,
  environment: Environment | undefined,
  more: Partial<EpisodeOptions> & {
    readonly signal?: AbortSignal;
    readonly callTimeoutMs?: number;
    readonly openTimeoutMs?: number;
  } = {},
) {
  const { signal, callTimeoutMs = 60_000, openTimeoutMs = 60_000, ...options } = more;
  return runEpisode(
    task,
    {
      workflow: workflow as EpisodeOptions['workflow'],
      policy: { kind: 'chat', model: { name: 'none', generate: () => never } },
      sampling: { temperature: 1, topP: 1, topK: -1, maxTokens: 10 },
      timeoutMs: 60_000,
      ...(environment !== undefined && {
        environment: { environment, callTimeoutMs, openTimeoutMs, closeTimeoutMs: 5 },
      }),
      ...options,
    },
    { episodeId: 'e', repeatIndex: 0, seed: 1, signal },
  );
}

async function walk(_task: Task, tuner: Tuner): Promise<{ reward: number }> {
  const session = await tuner.openEnvironment(_task);
  for (;;) if ((await session.step('on')).isDone) return { reward: 1 };
}

describe('a session', () => {
  it('says what is wrong with an answer that contains itself', async () => {
    const { environment } = createCounter();
    const cyclic: Record<string, unknown> = {};
    cyclic['self'] = cyclic;
    const open: Environment['open'] = async (given, options) => ({
      ...(await environment.open(given, options)),
      step: async () => ({ observation: cyclic, reward: 0, isDone: false }) as never,
    });
    const episode = await run(walk, { ...environment, open });
    expect(episode).toMatchObject({
      status: 'failed',
      error: { message: expect.stringContaining('counter returned a value that cannot be shown as an observation') },
    });
  });

  it('opens, steps, and is closed when the workflow returns', async () => {
    const { environment, seen } = createCounter();
    const episode = await run(walk, environment);
    expect(episode).toMatchObject({ status: 'completed', reward: 1 });
    expect(seen).toMatchObject({ opened: 1, open: 0, steps: ['on', 'on'], evaluations: 0, ids: ['e'] });
    expect(episode.spans?.map(({ name }) => name)).toEqual([
      'environment.open',
      'environment.step',
      'environment.step',
    ]);
  });

  it('is closed when the workflow throws', async () => {
    const { environment, seen } = createCounter();
    const episode = await run(async (given, tuner) => {
      await tuner.openEnvironment(given);
      throw new Error('lost my way');
    }, environment);
    expect(episode).toMatchObject({ status: 'failed', error: { code: 'workflow_failed' } });
    expect(seen).toMatchObject({ opened: 1, open: 0 });
  });

  it('is closed when time is over, and takes no further step', async () => {
    const { environment, seen } = createCounter();
    let late: Promise<unknown> = Promise.resolve();
    const episode = await run(
      async (given, tuner) => {
        const session = await tuner.openEnvironment(given);
        await new Promise((resolve) => tuner.signal.addEventListener('abort', resolve));
        late = session.step('late');
        await late;
      },
      environment,
      { timeoutMs: 5 },
    );
    expect(episode).toMatchObject({ status: 'failed', error: { code: 'timeout' } });
    await expect(late).rejects.toThrow('still running');
    expect(seen).toMatchObject({ open: 0, steps: [] });
  });

  it('is closed when the run stops while it is being opened', async () => {
    const { environment, seen } = createCounter();
    const controller = new AbortController();
    const slow: Environment = {
      open: async (given, options) => {
        controller.abort(new Error('ctrl-c'));
        return environment.open(given, options);
      },
    };
    expect(await run(walk, slow, { signal: controller.signal })).toMatchObject({ error: { code: 'aborted' } });
    expect(seen).toMatchObject({ opened: 1, open: 0 });
  });

  it('is closed if it comes after the workflow has returned', async () => {
    const { environment, seen } = createCounter();
    let opening: Promise<unknown> = Promise.resolve();
    let end = (): void => undefined;
    const ended = new Promise<void>((resolve) => (end = resolve));
    const slow: Environment = {
      open: async (given, options) => {
        await ended;
        return environment.open(given, options);
      },
    };
    const workflow = async (given: Task, tuner: Tuner) => {
      opening = tuner.openEnvironment(given);
      opening.catch(() => undefined);
      return { reward: 1 };
    };
    expect(await run(workflow, slow)).toMatchObject({ status: 'completed' });
    end();
    await expect(opening).rejects.toThrow('has ended');
    expect(seen).toMatchObject({ opened: 1, open: 0 });
  });

  it('is closed if its observation cannot be used', async () => {
    let numOpen = 0;
    const environment: Environment = {
      open: async () => {
        numOpen++;
        return { observation: { words: 'hello' } as never, tools: [], close: () => void numOpen-- };
      },
    };
    expect(await run(walk, environment)).toMatchObject({ error: { code: 'bad_answer' } });
    expect(numOpen).toBe(0);
  });

  it('begins with the same seed in every episode of a task', async () => {
    const { environment, seen } = createCounter();
    await run(walk, environment);
    await run(walk, environment);
    expect(new Set(seen.seeds).size).toBe(1);
  });

  it('makes calls one after the other', async () => {
    let running = 0;
    const { environment } = createCounter({
      onStep: async () => {
        expect(++running).toBe(1);
        await Promise.resolve();
        running--;
      },
    });
    const workflow = async (given: Task, tuner: Tuner) => {
      const session = await tuner.openEnvironment(given);
      const results = await Promise.all([session.step('a'), session.step('b')]);
      return { reward: Number(results[1].isDone) };
    };
    expect(await run(workflow, environment)).toMatchObject({ reward: 1 });
  });
});

describe('failures', () => {
  it('ends the attempt as an outage if the session is lost, even if a framework hides the error', async () => {
    const { environment, seen } = createCounter({
      onStep: () => {
        throw new EnvironmentOutage('connection reset', { host: 'lake:80' });
      },
    });
    const workflow = async (given: Task, tuner: Tuner) => {
      const session = await tuner.openEnvironment(given);
      await session.step('on').catch(() => 'words for the agent');
      await session.step('again').catch(() => 'words for the agent');
      return { reward: 1 };
    };
    const episode = await run(workflow, environment);
    expect(episode).toMatchObject({ error: { outage: { source: 'environment', host: 'lake:80' } } });
    expect(seen).toMatchObject({ open: 0, steps: ['on'] });
  });

  it('ends the attempt as an outage if a call takes too long', async () => {
    const { environment, seen } = createCounter({ onStep: () => never });
    const episode = await run(walk, environment, { callTimeoutMs: 5 });
    expect(episode).toMatchObject({ error: { outage: { source: 'environment', host: 'counter' } } });
    expect(seen.open).toBe(0);
  });

  it('ends the attempt as an outage if no session opens in time', async () => {
    const episode = await run(walk, { open: () => never }, { openTimeoutMs: 5 });
    expect(episode).toMatchObject({ error: { outage: { source: 'environment' } } });
  });

  it('counts a refusal of the environment as a failure of the agent', async () => {
    const { environment } = createCounter({
      onStep: () => {
        throw new EnvironmentError('limit', 'The program ran for more than 10 s.');
      },
    });
    const episode = await run(walk, environment);
    if (episode.status !== 'failed') throw new Error('It failed.');
    expect(episode.error).toMatchObject({ code: 'limit' });
    expect(isAgentsFailure(episode.error)).toBe(true);
  });

  it('does not count an unusable answer of the environment as a wrong answer', async () => {
    const environment: Environment = {
      open: async () => ({
        observation: { text: '' },
        tools: [],
        step: async () => ({ observation: { text: '' }, reward: Number.NaN, isDone: true }),
        close: () => {},
      }),
    };
    const episode = await run(walk, environment);
    if (episode.status !== 'failed') throw new Error('It failed.');
    expect(episode.error.message).toContain('the reward of a step');
    expect(isAgentsFailure(episode.error)).toBe(false);
  });

  it('stops the run if there is no environment, or if it lacks the method that is called', async () => {
    await expect(run(walk, undefined)).rejects.toThrow(/has none\. Set environment\.protocol/);
    const toolsOnly: Environment = {
      open: async () => ({ observation: { text: '' }, tools: [], call: async () => ({ text: '' }), close: () => {} }),
    };
    const stepping = run(async (given, tuner) => {
      const session = await tuner.openEnvironment(given);
      await session.step('on').catch(() => 'hidden');
    }, toolsOnly);
    await expect(stepping).rejects.toThrow(ConfigError);
    await expect(stepping).rejects.toThrow(/has no step; it has call/);
  });

  it('says what is wrong with something that is not a session', async () => {
    const environment = { open: async () => ({ observation: { text: '' } }) } as unknown as Environment;
    await expect(run(walk, environment)).rejects.toThrow(/returned no session/);
  });
});

describe('the verdict of the session', () => {
  const judge = (needsEnvironment: boolean): Judge => ({
    needsEnvironment,
    judge: (_task, _output, { environment }) => environment ?? { reward: -1, isSuccess: false },
  });
  const half = async (given: Task, tuner: Tuner) => {
    await (await tuner.openEnvironment(given)).step('on');
    return {};
  };

  it('is asked for before the session closes, for a judge that needs it', async () => {
    const { environment, seen } = createCounter();
    expect(await run(half, environment, { judge: judge(true) })).toMatchObject({ reward: 0.5 });
    expect(seen).toMatchObject({ evaluations: 1, open: 0 });
  });

  it('is the one that the workflow asked for last, unless it has acted since', async () => {
    const { environment, seen } = createCounter();
    const workflow = async (given: Task, tuner: Tuner) => {
      const session = await tuner.openEnvironment(given);
      await session.step('on');
      await session.evaluate();
      return {};
    };
    expect(await run(workflow, environment, { judge: judge(false) })).toMatchObject({ reward: 0.5 });
    expect(seen.evaluations).toBe(1);
  });

  it('cannot be asked for once the workflow has closed its session', async () => {
    const { environment } = createCounter();
    const closing = (isEvaluated: boolean) => async (given: Task, tuner: Tuner) => {
      const session = await tuner.openEnvironment(given);
      await session.step('on');
      if (isEvaluated) await session.evaluate();
      await session.close();
      return {};
    };
    await expect(run(closing(false), environment, { judge: judge(true) })).rejects.toThrow(/Leave the session open/);
    expect(await run(closing(true), environment, { judge: judge(true) })).toMatchObject({ reward: 0.5 });
  });

  it('does not count as a wrong answer if the environment refuses to give it', async () => {
    const { environment } = createCounter();
    const broken: Environment = {
      open: async (...given) => ({
        ...(await environment.open(...given)),
        evaluate: () => Promise.reject(new EnvironmentError('refused', 'evaluate answered 400')),
      }),
    };
    const episode = await run(half, broken, { judge: judge(true) });
    if (episode.status !== 'failed') throw new Error('It failed.');
    expect(episode.error.message).toContain('evaluate answered 400');
    expect(isAgentsFailure(episode.error)).toBe(false);
  });

  it('is an outage of the environment if it does not come before the episode is out of time', async () => {
    const { environment } = createCounter();
    const slow: Environment = {
      open: async (...given) => ({ ...(await environment.open(...given)), evaluate: () => never }),
    };
    const episode = await run(half, slow, { judge: judge(true), timeoutMs: 50 });
    expect(episode).toMatchObject({ status: 'failed', error: { outage: { source: 'environment' } } });
  });

  it('is asked for if the time of the agent is over and the workflow does not catch it', async () => {
    const over = new EnvironmentError('time_over', 'The 10 s of the agent are over.');
    const { environment } = createCounter({
      onStep: (action) => {
        if (action === 'late') throw over;
      },
    });
    const tooLong = async (_task: Task, tuner: Tuner) => {
      const session = await tuner.openEnvironment(_task);
      await session.step('on');
      await session.step('late').catch((cause: unknown) => {
        throw new Error('the framework failed', { cause });
      });
    };
    expect(await run(tooLong, environment, { judge: judge(true) })).toMatchObject({ status: 'completed', reward: 0.5 });
    expect(await run(tooLong, environment, { judge: judge(false) })).toMatchObject({ status: 'failed' });
  });

  it('may take as long as the environment wants for the task', async () => {
    const { environment } = createCounter();
    const slow: Environment = {
      limits: ({ taskId }) => ({ open: 60, evaluate: taskId === 'a' ? 60 : 0 }),
      open: async (...given) => ({
        ...(await environment.open(...given)),
        evaluate: () => new Promise((resolve) => setTimeout(resolve, 30, { reward: 1, isSuccess: true })),
      }),
    };
    const limits = { judge: judge(true), callTimeoutMs: 5, openTimeoutMs: 5 };
    expect(await run(half, limitSessions(slow, 1), limits)).toMatchObject({ status: 'completed', reward: 1 });
  });

  it('is not requested if it is not needed', async () => {
    const { environment, seen } = createCounter();
    expect(await run(half, environment, { judge: judge(false) })).toMatchObject({ reward: -1 });
    expect(seen.evaluations).toBe(0);
  });
});

describe('a limit of sessions', () => {
  it('lets further ones wait, in their order', async () => {
    const { environment, seen } = createCounter();
    const limited = limitSessions(environment, 2);
    const episodes = await Promise.all(Array.from({ length: 7 }, () => run(walk, limited)));
    expect(episodes.every(({ status }) => status === 'completed')).toBe(true);
    expect(seen).toMatchObject({ opened: 7, most: 2, open: 0 });
  });

  it('gives the seat back if opening fails, or if nobody waits any more', async () => {
    const { environment, seen } = createCounter();
    let failures = 3;
    const limited = limitSessions(
      {
        open: async (given, options) => {
          if (failures-- > 0) throw new EnvironmentOutage('down');
          return environment.open(given, options);
        },
      },
      1,
    );
    for (let at = 0; at < 3; at++) expect(await run(walk, limited)).toMatchObject({ status: 'failed' });
    const controller = new AbortController();
    const blocking = await limited.open(task, { seed: 1, signal: new AbortController().signal, episodeId: 'b' });
    const waiting = run(walk, limited, { signal: controller.signal });
    controller.abort();
    expect(await waiting).toMatchObject({ error: { code: 'aborted' } });
    await blocking.close();
    expect(await run(walk, limited)).toMatchObject({ status: 'completed' });
    expect(seen.open).toBe(0);
  });
});
