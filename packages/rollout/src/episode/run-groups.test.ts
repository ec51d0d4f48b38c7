import { ConfigError, Outage, TaskError, type SamplingOptions, type Task, type Verdict } from '@agentjet/core';
import { createChatTokenizer } from '@agentjet/tokenizer';
import { createChatTokenizerFiles } from '@agentjet/tokenizer/testing';
import { describe, expect, it } from 'vitest';
import type { Episode } from '../contract.js';
import { createScriptedEngine } from '../testing.js';
import type { WorkflowSource } from '../workflow.js';
import type { AttemptKeeper } from './attempts.js';
import { cutOf, runGroups, toEpisodeGroup, type GroupsOptions, type TaskGroup } from './run-groups.js';
import { collectAll } from '../testing/collect-all.js';

const chatTokenizer = createChatTokenizer(createChatTokenizerFiles('qwen3'));
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const tasksOf = (count: number): readonly Task[] =>
  Array.from({ length: count }, (_none, at) => ({
    taskId: `t${at}`,
    mainQuery: String(at),
    initMessages: [],
    metadata: {},
  }));

function open(workflow: WorkflowSource, options: Partial<GroupsOptions> = {}): AsyncGenerator<TaskGroup, void> {
  const engine = createScriptedEngine({ chatTokenizer, replies: ['x'] });
  return runGroups({
    workflow,
    policy: { kind: 'engine', engine, chatTokenizer },
    sampling: { temperature: 1, topP: 1, topK: 0, maxTokens: 9 },
    timeoutMs: 30_000,
    tasks: tasksOf(6),
    numRepeat: 2,
    maxParallel: 4,
    seed: 1,
    ...options,
  });
}

describe('an answer', () => {
  const ask =
    (sampling: SamplingOptions): WorkflowSource =>
    async (_task, tuner) => {
      const model = tuner.selectModel({ agentName: 'main' }, (tuned) => tuned);
      await model.generate({ messages: [{ role: 'user', content: 'go' }], sampling });
      return { reward: 1 };
    };

  it.each([
    ['that a stop string ended counts as whole', { stop: ['Observation:'] }, {}],
    ['that a token limit ended counts as cut', { maxTokens: 2 }, { isCut: true }],
    ['that its stop token ended counts as whole', {}, {}],
  ])('%s', async (_, sampling, cut) => {
    const engine = createScriptedEngine({ chatTokenizer, replies: ['go Observation: 3'] });
    const limits = { temperature: 1, topP: 1, topK: 0, maxTokens: 99 };
    const policy = { kind: 'engine', engine, chatTokenizer } as const;
    const groups = await collectAll(open(ask(sampling), { policy, sampling: limits }));
    const episodes = groups.flatMap((group) => group.episodes);
    expect(episodes).toHaveLength(12);
    for (const episode of episodes) expect([episode.status, cutOf(episode)]).toEqual(['completed', cut]);
  });
});

describe('runGroups', () => {
  it('yields complete groups in the order of the tasks, whichever is done first', async () => {
    const groups = await collectAll(
      open(async (task) => (await pause(12 - 2 * Number(task.mainQuery)), { reward: Number(task.mainQuery) })),
    );
    expect(groups.map(({ groupId }) => groupId)).toEqual(['t0', 't1', 't2', 't3', 't4', 't5']);
    expect(groups.map(({ episodes }) => episodes.map(({ repeatIndex }) => repeatIndex))).toEqual(Array(6).fill([0, 1]));
    expect(new Set(groups.flatMap(({ episodes }) => episodes.map(({ episodeId }) => episodeId))).size).toBe(12);
  });

  it('gives up a group that takes longer than the others, and reports its episodes', async () => {
    const reported: string[] = [];
    const hang = async (task: Task) => (task.taskId === 't0' ? new Promise<never>(() => {}) : { reward: 1 });
    const options = {
      stragglerPatienceMs: 20,
      maxOpenGroups: 7,
      onEpisode: ({ episodeId }: Episode) => reported.push(episodeId),
    };
    const groups = await collectAll(open(hang, options));
    expect(groups.map(({ groupId, isGivenUp }) => [groupId, isGivenUp])).toEqual([
      ['t0', true],
      ...['t1', 't2', 't3', 't4', 't5'].map((id) => [id, undefined]),
    ]);
    const [late] = groups;
    expect(late?.episodes).toMatchObject(Array(2).fill({ status: 'failed', error: { code: 'stale' } }));
    expect(late && toEpisodeGroup(late, 'zero_reward')).toBeUndefined();
    expect(reported).toHaveLength(12);
  });

  it('gives the same seeds next to other episodes, and others for another seed', async () => {
    const seeds = async (options: Partial<GroupsOptions>) =>
      (await collectAll(open(() => ({ reward: 1 }), options))).flatMap(({ episodes }) =>
        episodes.map(({ seed }) => seed),
      );
    const first = await seeds({});
    expect(new Set(first).size).toBe(12);
    expect(await seeds({ maxParallel: 1, maxOpenGroups: 1 })).toEqual(first);
    expect(await seeds({ seed: 2 })).not.toEqual(first);
  });

  it('makes a separate group for each draw of a task, with other seeds', async () => {
    const twice = [...tasksOf(1), ...tasksOf(2)];
    const groups = await collectAll(open(() => ({ reward: 1 }), { tasks: twice, idPrefix: 'e1-' }));
    expect(groups.map(({ groupId }) => groupId)).toEqual(['e1-t0', 'e1-t0#2', 'e1-t1']);
    const episodes = groups.flatMap((group) => group.episodes);
    expect(new Set(episodes.map(({ episodeId }) => episodeId)).size).toBe(6);
    expect(new Set(episodes.map(({ seed }) => seed)).size).toBe(6);
    const once = await collectAll(open(() => ({ reward: 1 }), { tasks: tasksOf(2) }));
    expect(groups[0]?.episodes.map(({ seed }) => seed)).toEqual(once[0]?.episodes.map(({ seed }) => seed));
  });

  it('runs maxParallel episodes at a time, and no more', async () => {
    let running = 0;
    let most = 0;
    await collectAll(
      open(async () => ((most = Math.max(most, ++running)), await pause(3), running--, { reward: 1 }), {
        maxParallel: 3,
        maxOpenGroups: 7,
      }),
    );
    expect(most).toBe(3);
  });

  it('lets others run ahead of a slow group, but not beyond the window', async () => {
    const started = new Set<string>();
    let release: () => void = () => {};
    const slow = new Promise<void>((resolve) => {
      release = resolve;
    });
    const workflow: WorkflowSource = async (task) => {
      started.add(task.taskId);
      if (task.taskId === 't0') await slow;
      return { reward: 1 };
    };
    const groups = open(workflow, { maxOpenGroups: 3 });
    const first = groups.next();
    await expect.poll(() => [...started].sort()).toEqual(['t0', 't1', 't2']);
    await pause(30);
    expect(started.size).toBe(3);
    release();
    expect(await first).toMatchObject({ value: { groupId: 't0' } });
    expect(await collectAll(groups)).toHaveLength(5);
  });

  it('does not start before it is asked, nor pull tasks beyond the window', async () => {
    let pulled = 0;
    async function* endless(): AsyncGenerator<Task> {
      for (;;) yield { taskId: `t${pulled++}`, mainQuery: '', initMessages: [], metadata: {} };
    }
    const groups = open(() => ({ reward: 1 }), { tasks: endless(), maxOpenGroups: 2 });
    await pause(5);
    expect(pulled).toBe(0);
    await groups.next();
    await groups.next();
    expect(pulled).toBeLessThanOrEqual(4);
    await groups.return(undefined);
  });

  it('keeps failed episodes as data, and continues', async () => {
    const groups = await collectAll(
      open((task) => {
        if (task.taskId === 't1') throw new Error('bad luck');
        return { reward: 1 };
      }),
    );
    expect(groups.map(({ episodes }) => episodes.map(({ status }) => status).join())).toEqual([
      'completed,completed',
      'failed,failed',
      ...Array(4).fill('completed,completed'),
    ]);
  });

  it('reports progress', async () => {
    const started: string[] = [];
    const ended: Episode[] = [];
    await collectAll(
      open(() => ({ reward: 1 }), {
        tasks: tasksOf(2),
        onEpisodeStart: ({ episodeId }) => started.push(episodeId),
        onEpisode: (episode) => ended.push(episode),
      }),
    );
    expect(started.sort()).toEqual(['t0-r0', 't0-r1', 't1-r0', 't1-r1']);
    expect(ended.map(({ episodeId }) => episodeId).sort()).toEqual(started);
  });
});

describe('an end before the end', () => {
  it('by a signal aborts running episodes and yields no more groups', async () => {
    const stop = new AbortController();
    let running = 0;
    let aborted = 0;
    const groups = open(
      async (task, tuner) => {
        if (task.taskId === 't0') return { reward: 1 };
        running++;
        tuner.signal.addEventListener('abort', () => aborted++);
        return new Promise(() => {});
      },
      { signal: stop.signal },
    );
    expect(await groups.next()).toMatchObject({ value: { groupId: 't0' } });
    const next = groups.next();
    await expect.poll(() => running).toBe(4);
    stop.abort();
    expect(await next).toEqual({ value: undefined, done: true });
    expect(aborted).toBe(4);
  });

  it('by leaving the loop aborts running episodes and closes the tasks', async () => {
    let isClosed = false;
    function* tasks(): Generator<Task> {
      try {
        yield* tasksOf(100);
      } finally {
        isClosed = true;
      }
    }
    let running = 0;
    for await (const _group of open(
      async (task, tuner) => {
        running++;
        tuner.signal.addEventListener('abort', () => running--);
        if (task.taskId !== 't0') await pause(5000);
        return { reward: 1 };
      },
      { tasks: tasks() },
    ))
      break;
    expect([isClosed, running]).toEqual([true, 0]);
  });

  it('by a broken task source, after the groups before it', async () => {
    async function* tasks(): AsyncGenerator<Task> {
      yield* tasksOf(2);
      throw new TaskError('bad_json', 'tasks.jsonl:3: not JSON');
    }
    const groups = open(() => ({ reward: 1 }), { tasks: tasks(), maxOpenGroups: 1 });
    await groups.next();
    await groups.next();
    await expect(groups.next()).rejects.toThrow('tasks.jsonl:3');
  });

  it('by a wrong configuration', async () => {
    const workflow: WorkflowSource = async (_task, tuner) => (
      tuner.selectModel({ agentName: 'a' }, (model) => model), { reward: 1 }
    );
    await expect(open(workflow, { trainableTargets: ['b'] }).next()).rejects.toBeInstanceOf(ConfigError);
    await expect(open(workflow, { maxParallel: 0 }).next()).rejects.toThrow(/maxParallel is 0/);
  });
});

describe('toEpisodeGroup', () => {
  const workflow: WorkflowSource = async (_task, tuner) => {
    const { message } = await tuner
      .selectModel({ agentName: 'a' }, (model) => model)
      .generate({ messages: [{ role: 'user', content: 'hi' }] });
    if (tuner.episodeId.endsWith('r1')) throw new Error('half way');
    return { reward: message.content.length };
  };

  it('keeps the rewards of single targets and turns, except those of a failed episode', async () => {
    const paid: WorkflowSource = async (_task, tuner) => {
      const model = tuner.selectModel({ agentName: 'a' }, (given) => given);
      await model.generate({ messages: [{ role: 'user', content: 'hi' }] });
      tuner.reward(0.5);
      if (tuner.episodeId.endsWith('r1')) throw new Error('half way');
      return { rewards: { a: 2 } };
    };
    const [group] = await collectAll(open(paid, { tasks: tasksOf(1) }));
    if (group === undefined) throw new Error('no group');
    const [first, failed] = toEpisodeGroup(group, 'zero_reward')?.episodes ?? [];
    expect(first).toMatchObject({
      reward: 2,
      rewards: { a: 2 },
      turnRewards: [{ agentName: 'a', turnIndex: 0, value: 0.5 }],
    });
    expect(failed).toMatchObject({ reward: 0 });
    expect(failed).not.toHaveProperty('turnRewards');
  });

  it('drops a group whose agent began at different temperatures', async () => {
    const drawing =
      (temperatureOf: (episodeId: string) => number): WorkflowSource =>
      async (_task, tuner) => {
        const model = tuner.selectModel({ agentName: 'a' }, (given) => given);
        const sampling = { temperature: temperatureOf(tuner.episodeId) };
        await model.generate({ messages: [{ role: 'user', content: 'hi' }], sampling });
        return { reward: 1 };
      };
    const groupOf = async (temperatureOf: (episodeId: string) => number) => {
      const [group] = await collectAll(open(drawing(temperatureOf), { tasks: tasksOf(1) }));
      return group && toEpisodeGroup(group, 'drop_group');
    };
    expect(await groupOf((episodeId) => (episodeId.endsWith('r1') ? 0.2 : 0.9))).toBeUndefined();
    expect(await groupOf(() => 0.5)).toMatchObject({ groupId: 't0' });
  });

  it('drops a group with a failed episode, or counts it with reward 0', async () => {
    const [group] = await collectAll(open(workflow, { tasks: tasksOf(1), idPrefix: 's3/' }));
    if (group === undefined) throw new Error('no group');
    expect(toEpisodeGroup(group, 'drop_group')).toBeUndefined();
    expect(toEpisodeGroup(group, 'zero_reward')).toMatchObject({
      groupId: 's3/t0',
      episodes: [
        { episodeId: 's3/t0-r0', reward: 1, samples: [{}] },
        { reward: 0, samples: [{}] },
      ],
    });
  });
});

describe('attempts', () => {
  const outage = (): Outage => new Outage('the sandbox is away', { host: 'sandbox' });
  /** Creates a keeper that loses the first attempts of every second place. It does not delay any attempt. */
  function createKeeper(maxAttempts: number): AttemptKeeper {
    return {
      scorePatienceMs: 500, // this is shorter than the first gap
      begin: () => Promise.resolve(),
      end: ({ attempt }, episode) =>
        attempt + 1 < maxAttempts && episode.status === 'failed' && episode.error.outage !== undefined,
      judgeIsAway: () => undefined,
    };
  }
  const seen: { readonly episodeId: string; readonly seed: number; readonly attempt: number | undefined }[] = [];

  it('repeat attempts that an outage lost with the same seed, and keep the lost ones apart from the group', async () => {
    const workflow: WorkflowSource = async (_task, tuner) => {
      await tuner
        .selectModel({ agentName: 'a' }, (model) => model)
        .generate({ messages: [{ role: 'user', content: 'hi' }] });
      if (tuner.episodeId.includes('-r1') && tuner.attempt < 3) throw new Error('x', { cause: outage() });
      return { reward: tuner.attempt };
    };
    const onEpisode = (episode: Episode): void =>
      void seen.push({ episodeId: episode.episodeId, seed: episode.seed, attempt: episode.attempt });
    const options = { tasks: tasksOf(1), keeper: createKeeper(3), onEpisode };
    const [group] = await collectAll(open(workflow, options));
    expect(group?.episodes).toMatchObject([
      { episodeId: 't0-r0', status: 'completed', reward: 1 },
      { episodeId: 't0-r1-a2', status: 'completed', reward: 3 },
    ]);
    expect(group?.lost).toMatchObject([
      { episodeId: 't0-r1', error: { outage: { source: 'workflow', host: 'sandbox' } } },
      { episodeId: 't0-r1-a1' },
    ]);
    const ofPlace = seen.filter(({ episodeId }) => episodeId.includes('-r1'));
    expect(new Set(ofPlace.map(({ seed }) => seed)).size).toBe(1);
  });

  it('end with the error of the keeper at once, even if the groups before it wait for the end of an outage', async () => {
    const until = (signal: AbortSignal): Promise<void> =>
      new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
    const keeper: AttemptKeeper = {
      scorePatienceMs: null,
      begin: ({ task }, signal) => (task.taskId === 't0' ? until(signal) : Promise.resolve()),
      end: () => {
        throw new Error('the engine is gone');
      },
      judgeIsAway: () => undefined,
    };
    await expect(collectAll(open(() => ({ reward: 1 }), { tasks: tasksOf(3), keeper }))).rejects.toThrow(
      'engine is gone',
    );
  });

  it('never get a reward under any policy if an outage or the judge caused the failure', async () => {
    const workflow: WorkflowSource = (task) => {
      if (task.taskId === 't0') throw outage();
      return task.taskId === 't1' ? {} : { reward: 1 };
    };
    const judge = {
      judge: (): Verdict => {
        throw new TypeError('the judge has a bug');
      },
    };
    const groups = await collectAll(open(workflow, { tasks: tasksOf(3), judge, keeper: createKeeper(1) }));
    for (const policy of ['zero_reward', 'partial_group', 'drop_group'] as const)
      expect(groups.map((group) => toEpisodeGroup(group, policy)?.episodes.length)).toEqual([undefined, undefined, 2]);
  });

  it('end without a reward if the judge cannot be reached for longer than the patience', async () => {
    const judge = {
      judge: (): Verdict => {
        throw outage();
      },
    };
    const [group] = await collectAll(open(() => ({}), { tasks: tasksOf(1), judge, keeper: createKeeper(1) }));
    expect(group?.episodes[0]).toMatchObject({ status: 'failed', error: { outage: { source: 'judge' } } });
  });
});

describe('a partial group', () => {
  const workflow: WorkflowSource = (_task, tuner) => {
    if (Number(tuner.episodeId.at(-1)) >= 2) throw new Error('the agent failed');
    return { reward: Number(tuner.episodeId.at(-1)) };
  };

  it('trains the episodes that are left if they are enough', async () => {
    const [four] = await collectAll(open(workflow, { tasks: tasksOf(1), numRepeat: 4 }));
    const [five] = await collectAll(open(workflow, { tasks: tasksOf(1), numRepeat: 5 }));
    if (four === undefined || five === undefined) throw new Error('no group');
    expect(toEpisodeGroup(four, 'partial_group')?.episodes.map(({ episodeId }) => episodeId)).toEqual([
      't0-r0',
      't0-r1',
    ]);
    expect(toEpisodeGroup(five, 'partial_group')).toBeUndefined();
    expect(toEpisodeGroup(five, 'partial_group', 0.4)?.episodes).toHaveLength(2);
  });
});
