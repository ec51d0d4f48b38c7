import {
  type ChatModel,
  type ChatResponse,
  ConfigError,
  isAgentsFailure,
  type Task,
  type Verdict,
  type WorkflowOutput,
} from '@agentjet/core';
import { createChatTokenizer } from '@agentjet/tokenizer';
import { createChatTokenizerFiles } from '@agentjet/tokenizer/testing';
import { describe, expect, it, vi } from 'vitest';
import type { Episode, Tuner } from '../contract.js';
import { createScriptedEngine, type ScriptedReply } from '../testing.js';
import { Workflow, type WorkflowSource } from '../workflow.js';
import type { JudgeContext } from '../judge.js';
import type { EpisodeError } from './episode-error.js';
import { runEpisode, type EpisodeOptions } from './run-episode.js';

const chatTokenizer = createChatTokenizer(createChatTokenizerFiles('qwen3'));
const task: Task = { taskId: 't1', mainQuery: 'hi', initMessages: [], metadata: {} };
const identity = { episodeId: 'e1', repeatIndex: 0, seed: 3 };
const sampling = { temperature: 1, topP: 1, topK: 0, maxTokens: 100 };

type Options = Partial<EpisodeOptions> & { readonly replies?: readonly ScriptedReply[]; readonly signal?: AbortSignal };

function run(
  workflow: WorkflowSource,
  { replies = ['hello'], signal, ...options }: Options = {},
  given = task,
): Promise<Episode> {
  const engine = createScriptedEngine({ chatTokenizer, replies });
  return runEpisode(
    given,
    { workflow, policy: { kind: 'engine', engine, chatTokenizer }, sampling, timeoutMs: 30_000, ...options },
    { ...identity, ...(signal && { signal }) },
  );
}

const say = (tuner: Tuner, content = 'hi') =>
  tuner.selectModel({ agentName: 'a' }, (model) => model).generate({ messages: [{ role: 'user', content }] });

function failureOf(episode: Episode): EpisodeError {
  if (episode.status !== 'failed') throw new Error(`the episode is ${episode.status}`);
  return episode.error;
}

describe('a workflow', () => {
  it('is a function: its output becomes the episode, with what was recorded', async () => {
    const episode = await run(async (given, tuner) => ({
      reward: 0.5,
      isSuccess: true,
      metadata: { answer: (await say(tuner, given.mainQuery)).message.content },
      logMetrics: { turns: 1 },
    }));
    expect(episode).toMatchObject({
      ...identity,
      task,
      status: 'completed',
      reward: 0.5,
      isSuccess: true,
      metadata: { answer: 'hello' },
      logMetrics: { turns: 1 },
      calls: { answered: 1 },
    });
    expect(episode.samples).toHaveLength(1);
    expect(episode.seconds).toBeGreaterThan(0);
  });

  it('is recorded with its time, the times of its calls and the last answer', async () => {
    const before = Date.now() - 1;
    const { beganAt, turns, answer } = await run(
      async (_task, tuner) => {
        await say(tuner, 'one');
        await say(tuner, 'two');
        return { reward: 1 };
      },
      { replies: ['first', 'second'] },
    );
    expect(answer).toBe('second');
    expect(beganAt).toBeGreaterThanOrEqual(before);
    const ms = turns.flatMap(({ times }) => [times?.beganMs ?? -1, times?.endedMs ?? -1]);
    expect(ms).toEqual(ms.toSorted((left, right) => left - right));
    expect(Math.min(...ms)).toBeGreaterThanOrEqual(0);
  });

  it('may end with a call of a tool, which is then its last answer', async () => {
    const call = '<tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call>';
    const { answer } = await run(
      async (_task, tuner) => {
        const model = tuner.selectModel({ agentName: 'a' }, (tuned) => tuned);
        const tools = [{ name: 'add', parameters: {} }];
        await model.generate({ messages: [{ role: 'user', content: 'add' }], tools });
        return { reward: 0 };
      },
      { replies: [call] },
    );
    expect(answer).toBe('add({"a": 1})');
  });

  it('has no last answer if it called no model', async () => {
    expect(await run(async () => ({ reward: 0 }))).not.toHaveProperty('answer');
  });

  it('is a class, with an instance for each episode', async () => {
    class Counting extends Workflow {
      count = 0;
      async execute(): Promise<WorkflowOutput> {
        return { reward: ++this.count };
      }
    }
    expect([await run(Counting), await run(Counting)]).toMatchObject([{ reward: 1 }, { reward: 1 }]);
  });

  it('may keep execute in a field, or come from a second copy of our packages', async () => {
    class Structural {
      execute = async (): Promise<WorkflowOutput> => ({ reward: 1 });
    }
    expect(await run(Structural)).toMatchObject({ reward: 1 });
  });

  it('names its targets, and the configuration names others', async () => {
    class Wolves extends Workflow {
      override trainableTargets = ['wolf'];
      async execute(_task: Task, tuner: Tuner): Promise<WorkflowOutput> {
        return { reward: Number(tuner.isTrainable('wolf')) + 2 * Number(tuner.isTrainable('seer')) };
      }
    }
    expect(await run(Wolves)).toMatchObject({ reward: 1 });
    expect(await run(Wolves, { trainableTargets: ['seer'] })).toMatchObject({ reward: 2 });
    expect(await run(Wolves, { trainableTargets: null })).toMatchObject({ reward: 1 });
  });

  it('has its own copy of the task, which it may change', async () => {
    const spoiling: WorkflowSource = async (given) => {
      Object.assign(given, { mainQuery: `${given.mainQuery}!` });
      Object.assign(given.metadata, { seen: given.mainQuery });
      return { reward: null, metadata: { seen: given.metadata['seen'] } };
    };
    const judge = { judge: (given: Task) => ({ reward: Object.keys(given.metadata).length, isSuccess: true }) };
    for (let repeat = 0; repeat < 2; repeat++)
      expect(await run(spoiling, { judge })).toMatchObject({
        reward: 0,
        metadata: { seen: 'hi!' },
        task: { mainQuery: 'hi', metadata: {} },
      });
  });

  it('is judged by a judge that cannot change the task of its siblings', async () => {
    const seen = new Map([['count', [0]]]);
    const shared: Task = { ...task, metadata: { list: [1], seen, solve: () => 2 } };
    const spoiling = ({ metadata }: Task) => {
      const { list, seen: counts, solve } = metadata as { list: number[]; seen: typeof seen; solve: () => number };
      list.push(1);
      counts.get('count')?.push(1);
      return { reward: list.length + (counts.get('count')?.length ?? 0) + solve(), isSuccess: true };
    };
    for (let repeat = 0; repeat < 2; repeat++)
      expect(await run(() => ({}), { judge: { judge: spoiling } }, shared)).toMatchObject({ reward: 6 });
    expect(shared.metadata).toMatchObject({ list: [1], seen });
    expect(seen.get('count')).toEqual([0]);
  });

  it('counts as a success from reward 1 on if it does not say', async () => {
    expect(await run(() => ({ reward: 1 }))).toMatchObject({ isSuccess: true });
    expect(await run(() => ({ reward: 0.9 }))).toMatchObject({ isSuccess: false });
    expect(await run(() => ({ reward: 1, isSuccess: false }))).toMatchObject({ isSuccess: false });
  });
});

describe('a failed episode', () => {
  it('keeps the user’s error and stack, and what was recorded', async () => {
    const episode = await run(async function userCode(_task, tuner) {
      await say(tuner);
      throw new TypeError('cannot add apples');
    });
    expect(failureOf(episode)).toMatchObject({
      code: 'workflow_failed',
      message: 'The workflow threw TypeError: cannot add apples',
    });
    expect(failureOf(episode).stack).toMatch(/cannot add apples[\s\S]*userCode[\s\S]*run-episode\.test\.ts/);
    expect(episode.samples).toHaveLength(1);
  });

  it.each([
    [
      'a sync throw',
      () => {
        throw new Error('sync');
      },
      /sync/,
    ],
    ['no Error', () => Promise.reject('just text'), /just text/],
    ['nothing', () => Promise.reject(undefined), /undefined/],
  ] as const)('may throw %s', async (_name, workflow, message) => {
    expect(failureOf(await run(workflow as WorkflowSource)).message).toMatch(message);
  });

  it('may throw in its constructor', async () => {
    class Broken extends Workflow {
      constructor() {
        super();
        throw new Error('no database');
      }
      async execute(): Promise<WorkflowOutput> {
        return { reward: 1 };
      }
    }
    expect(failureOf(await run(Broken)).message).toContain('no database');
  });

  it('ends at its time limit, its model calls with it', async () => {
    let late: Promise<unknown> = Promise.resolve();
    const episode = await run(
      async (_task, tuner) => {
        late = say(tuner).catch((error: unknown) => error);
        return new Promise<WorkflowOutput>(() => {});
      },
      { timeoutMs: 30, replies: [{ text: 'a very slow answer indeed', tokenDelayMs: 20 }] },
    );
    expect(failureOf(episode)).toMatchObject({ code: 'timeout', message: expect.stringMatching(/0\.03 s/) });
    expect(await late).toMatchObject({ code: 'closed' });
    expect(episode.samples).toHaveLength(0);
  });

  it('names the limit as its user does', async () => {
    const forever: WorkflowSource = () => new Promise<WorkflowOutput>(() => {});
    const messageOf = async (options: object): Promise<string> => failureOf(await run(forever, options)).message;
    expect(await messageOf({ timeoutMs: 5 })).toContain('raise rollout.episode_timeout.');
    expect(await messageOf({ timeoutMs: 5, timeoutName: '--timeout' })).toContain('raise --timeout.');
  });

  it('ends at its time limit in spite of calls that fail and are made again without a pause', async () => {
    let isOver = false;
    const engine = createScriptedEngine({ chatTokenizer, replies: [], contextLength: 50 });
    const stubborn: WorkflowSource = async (_task, tuner) => {
      while (!isOver) await say(tuner, 'word '.repeat(300)).catch(() => undefined);
      return { reward: 1 };
    };
    const episode = await run(stubborn, { timeoutMs: 50, policy: { kind: 'engine', engine, chatTokenizer } });
    expect(failureOf(episode).code).toBe('timeout');
    await new Promise((resolve) => setTimeout(resolve, 30)); // the workflow continues to call and lets other code run
    isOver = true;
  });

  it('ends with its run', async () => {
    const stop = new AbortController();
    const episode = run(
      (_task, tuner) =>
        new Promise((_resolve, reject) => tuner.signal.addEventListener('abort', () => reject(new Error('noticed')))),
      { signal: stop.signal },
    );
    stop.abort();
    expect(failureOf(await episode).code).toBe('aborted');
  });

  it('contains the message of the engine, even inside an error of a framework', async () => {
    const workflow: WorkflowSource = async (_task, tuner) => {
      await say(tuner, 'word '.repeat(300)).catch((cause: unknown) => {
        throw new Error('framework: request failed', { cause });
      });
      return { reward: 1 };
    };
    const engine = createScriptedEngine({ chatTokenizer, replies: ['x'], contextLength: 50 });
    expect(failureOf(await run(workflow, { policy: { kind: 'engine', engine, chatTokenizer } }))).toMatchObject({
      code: 'context_overflow',
      message: expect.stringMatching(/holds 50/),
    });
  });

  it.each([
    [undefined, /returned undefined/],
    [7, /returned 7/],
    [{ reward: NaN }, /reward NaN/],
    [{ reward: Infinity }, /reward Infinity/],
    [{ reward: 1.7e308 }, /from -1e12 to 1e12/],
    [{ reward: '1' }, /reward "1"/],
    [{ reward: [1, 2] }, /reward a list of 2/],
    [{ reward: 1, isSuccess: 'yes' }, /isSuccess "yes"/],
    [{ reward: 1, logMetrics: { speed: NaN } }, /logMetrics\.speed NaN/],
    [{ reward: 1, logMetrics: { speed: 'fast' } }, /logMetrics\.speed "fast"/],
    [{ reward: 1, metadata: 'text' }, /metadata "text"/],
    [{ reward: 0.3, is_success: true }, /returned is_success true\. Rename it to isSuccess/],
    [{ reward: 0.3, success: true }, /returned success true\. Rename it to isSuccess/],
    [{ rewrd: 1 }, /returned rewrd 1\. Rename it to reward,/],
    [{ reward: 1, log_metrics: { speed: 1 } }, /returned log_metrics an object\. Rename it to logMetrics/],
    [{ reward: 1, metadata: { big: 1n } }, /metadata that is not JSON/],
  ])('comes from the output %o', async (output, message) => {
    const error = failureOf(await run((() => output) as unknown as WorkflowSource));
    expect(error.code).toBe('bad_output');
    expect(error.message).toMatch(message);
  });
});

describe('an output', () => {
  it('may have additional fields of the user', async () => {
    const output = { reward: 1, reward2: 2, answer: 'x', isSuccess: false, success: true };
    expect(await run(() => output)).toMatchObject({ status: 'completed', reward: 1, isSuccess: false });
  });
});

describe('a judge', () => {
  it('is asked if there is no reward, with the output', async () => {
    const judge = { judge: vi.fn((): Verdict => ({ reward: 0.25, isSuccess: false })) };
    expect(await run(() => ({ reward: null, metadata: { answer: 4 } }), { judge })).toMatchObject({
      status: 'completed',
      reward: 0.25,
      isSuccess: false,
    });
    expect(judge.judge).toHaveBeenCalledWith(
      task,
      expect.objectContaining({ metadata: { answer: 4 } }),
      expect.objectContaining({ episodeId: 'e1', environment: null }),
    );
    await run(() => ({ reward: 1 }), { judge });
    expect(judge.judge).toHaveBeenCalledTimes(1);
  });

  const brokenJudges: readonly (readonly [string, (() => unknown) | undefined, string, RegExp])[] = [
    ['is missing', undefined, 'no_judge', /no reward for task "t1", and there is no judge/],
    [
      'throws',
      () => {
        throw new Error('judge is ill');
      },
      'judge_failed',
      /judge is ill/,
    ],
    ['says nothing', () => undefined, 'bad_verdict', /returned undefined/],
    ['says NaN', () => ({ reward: NaN, isSuccess: true }), 'bad_verdict', /reward for task "t1" is NaN/],
    ['says 1e13', () => ({ reward: 1e13, isSuccess: true }), 'bad_verdict', /from -1e12 to 1e12/],
    ['hangs', () => new Promise(() => {}), 'judge_failed', /no verdict within 0\.05 s/],
  ];

  it.each(brokenJudges)('that %s fails the episode', async (_name, judge, code, message) => {
    const error = failureOf(
      await run(() => ({}), { timeoutMs: 50, ...(judge && { judge: { judge: judge as () => never } }) }),
    );
    expect(error.code).toBe(code);
    expect(error.message).toMatch(message);
  });
});

describe('a judge that gives no verdict in time', () => {
  const signalled = (signal: AbortSignal): Promise<never> =>
    new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));

  it.each(['ignores its signal', 'heeds its signal'])(
    'is an outage, never the failure of the agent: one that %s',
    async (how) => {
      const judge = {
        judge: (_task: Task, _output: WorkflowOutput, { signal }: JudgeContext): Promise<never> =>
          how === 'ignores its signal' ? new Promise<never>(() => {}) : signalled(signal),
      };
      const error = failureOf(await run(() => ({}), { timeoutMs: 50, judge }));
      expect(error.outage).toEqual({ source: 'judge', host: 'judge' });
      expect(isAgentsFailure(error)).toBe(false);
    },
  );

  it('is asked again with the same time limit', async () => {
    let asked = 0;
    const judge = {
      judge: (): Promise<Verdict> | Verdict =>
        asked++ === 0 ? new Promise<Verdict>(() => {}) : { reward: 0.5, isSuccess: false },
    };
    const away: string[] = [];
    const keeper = { scorePatienceMs: null, judgeIsAway: (_id: string, message: string) => void away.push(message) };
    expect(await run(() => ({}), { timeoutMs: 50, judge, keeper })).toMatchObject({
      status: 'completed',
      reward: 0.5,
      judgeOutage: { requests: 1, seconds: 1 },
    });
    expect(away.join()).toMatch(/no verdict within/);
  });

  it('stops the run if it throws a ConfigError', async () => {
    const judge = { judge: () => Promise.reject(new ConfigError('judge_unavailable', 'the judge is away')) };
    await expect(run(() => ({}), { judge })).rejects.toThrow('the judge is away');
  });
});

describe('a wrong configuration', () => {
  it('stops everything: no debug model, no targets, no execute', async () => {
    const workflow: WorkflowSource = (_task, tuner) => say(tuner).then(() => ({ reward: 1 }));
    await expect(run(workflow, { trainableTargets: ['other'] })).rejects.toThrow(/No model for agent "a"/);
    await expect(run(workflow, { trainableTargets: [] })).rejects.toBeInstanceOf(ConfigError);
    class Empty {}
    await expect(run(Empty as unknown as WorkflowSource)).rejects.toThrow(/"Empty" has no execute/);
  });
});

describe('a chat policy', () => {
  it('answers without recording, is counted, and closes with the episode', async () => {
    const model: ChatModel = {
      name: 'remote',
      generate: vi.fn(
        async (): Promise<ChatResponse> => ({
          id: '1',
          model: 'remote',
          message: { role: 'assistant', content: 'far away' },
          finishReason: 'stop',
          usage: { promptTokens: 1, completionTokens: 2 },
        }),
      ),
    };
    let kept: Tuner | undefined;
    const episode = await run(
      async (_task, tuner): Promise<WorkflowOutput> => {
        kept = tuner;
        return { reward: 1, metadata: { text: (await say(tuner)).message.content } };
      },
      { policy: { kind: 'chat', model } },
    );
    expect(episode).toMatchObject({ metadata: { text: 'far away' }, samples: [], calls: { answered: 1 } });
    if (kept === undefined) throw new Error('the workflow did not run');
    await expect(say(kept)).rejects.toMatchObject({ code: 'closed' });
  });
});

describe('the context of a judge', () => {
  it('is what the agents said, and a seed that the same episode gets again', async () => {
    const contexts: JudgeContext[] = [];
    const judge = {
      judge: (_task: Task, _output: WorkflowOutput, context: JudgeContext): Verdict => {
        contexts.push(context);
        return { reward: 0.5, isSuccess: true, parts: { form: 1 }, reason: 'polite' };
      },
    };
    const workflow: WorkflowSource = async (_task, tuner) => {
      await say(tuner, 'one');
      await say(tuner, 'two');
      return {};
    };
    const episode = await run(workflow, { judge });
    expect(episode).toMatchObject({ reward: 0.5, parts: { form: 1 }, reason: 'polite' });
    await run(workflow, { judge });
    const [first, second] = contexts;
    expect(first?.transcripts.map(({ agentName, messages }) => [agentName, ...messages.map((m) => m.content)])).toEqual(
      [
        ['a', 'one', 'hello'],
        ['a', 'two', 'hello'],
      ],
    );
    expect(first?.seed).toBe(second?.seed);
    expect(first?.signal.aborted).toBe(true); // the episode is over by now
  });

  it.each([
    [{ reward: 1, isSuccess: true, parts: { form: Number.NaN } }, /parts\.form is NaN/],
    [{ reward: 1, isSuccess: true, rewards: 3 }, /rewards are 3/],
    [{ reward: 1, isSuccess: true, reason: 3 }, /reason .* is of type number/],
  ])('and a verdict such as %o fails the episode', async (verdict, message) => {
    const episode = await run(() => ({}), { judge: { judge: () => verdict as Verdict } });
    expect(failureOf(episode)).toMatchObject({ code: 'bad_verdict', message: expect.stringMatching(message) });
  });

  it('may be the words of a model that nothing records', async () => {
    const replies = ['yes', 'no'];
    const model: ChatModel = {
      name: 'api',
      generate: () => Promise.resolve(toResponse(replies.shift() ?? '')),
    };
    let transcripts: JudgeContext['transcripts'] = [];
    const judge = {
      judge: (_task: Task, _output: WorkflowOutput, context: JudgeContext): Verdict => {
        ({ transcripts } = context);
        return { reward: 1, isSuccess: true };
      },
    };
    const workflow: WorkflowSource = async (_task, tuner) => {
      const asked = tuner.selectModel({ agentName: 'a' }, (given) => given);
      const first = { role: 'user', content: 'q' } as const;
      const { message } = await asked.generate({ messages: [first] });
      await asked.generate({ messages: [first, message, { role: 'user', content: 'sure?' }] });
      return {};
    };
    await run(workflow, { judge, policy: { kind: 'chat', model } });
    expect(transcripts.map(({ messages }) => messages.map(({ content }) => content))).toEqual([
      ['q', 'yes', 'sure?', 'no'],
    ]);
  });
});

describe('rewards', () => {
  it('may differ by target, and then need no reward for all', async () => {
    const workflow: WorkflowSource = async (_task, tuner) => {
      await say(tuner);
      return { rewards: { a: 1, b: -2 } };
    };
    expect(await run(workflow)).toMatchObject({ reward: -0.5, isSuccess: false, rewards: { a: 1, b: -2 } });
  });

  it('that name no target of the episode are refused', async () => {
    const workflow: WorkflowSource = async (_task, tuner) => {
      await say(tuner);
      return { rewards: { wolfs: 1 } };
    };
    expect(failureOf(await run(workflow)).message).toContain('rewards for wolfs, but its agents have the targets a');
  });

  it.each([[{}], [{ a: 'x' }], [[1]], [{ a: Number.NaN }], [{ a: 1e13 }]])(
    'such as %o are refused',
    async (rewards) => {
      const workflow = () => ({ rewards: rewards as unknown as Record<string, number> });
      expect(failureOf(await run(workflow))).toMatchObject({ code: 'bad_output' });
    },
  );

  it('may be given after a turn, and then count for that turn', async () => {
    const workflow: WorkflowSource = async (_task, tuner) => {
      await say(tuner, 'one');
      tuner.reward(0.5);
      await say(tuner, 'two');
      tuner.reward(-1, { agent: 'a' });
      return {};
    };
    expect(await run(workflow)).toMatchObject({
      status: 'completed',
      reward: 0,
      turnRewards: [
        { agentName: 'a', turnIndex: 0, value: 0.5 },
        { agentName: 'a', turnIndex: 1, value: -1 },
      ],
    });
  });

  it('are refused before a turn, and for an agent that has none', async () => {
    expect(failureOf(await run((_task, tuner) => (tuner.reward(1), {}))).message).toContain(
      'No agent has had an answer',
    );
    const workflow: WorkflowSource = async (_task, tuner) => {
      await say(tuner);
      tuner.reward(1, { agent: 'b' });
      return { reward: 1 };
    };
    expect(failureOf(await run(workflow)).message).toContain(
      'Agent "b" has had no answer in this episode. Agents with turns: a.',
    );
  });

  it('of an agent that does not learn are ignored', async () => {
    const debugModel: ChatModel = { name: 'd', generate: () => Promise.resolve(toResponse('x')) };
    const workflow: WorkflowSource = (_task, tuner) => {
      tuner.selectModel({ agentName: 'b', debugModel }, (model) => model);
      tuner.reward(1, { agent: 'b' });
      return { reward: 1 };
    };
    const episode = await run(workflow, { trainableTargets: ['a'] });
    expect(episode).toMatchObject({ status: 'completed', reward: 1 });
    expect(episode).not.toHaveProperty('turnRewards');
  });
});

describe('spans', () => {
  it('record what took how long, and let results and errors through', async () => {
    const workflow: WorkflowSource = async (_task, tuner) => {
      const sum = tuner.span('add', () => 2);
      const product = await tuner.span('multiply', () => Promise.resolve(3));
      await tuner.span('fail', () => Promise.reject(new Error('no'))).catch(() => {});
      return { reward: sum * product };
    };
    const episode = await run(workflow);
    expect(episode).toMatchObject({ reward: 6 });
    expect(episode.spans?.map(({ name, hasFailed }) => [name, hasFailed])).toEqual([
      ['add', false],
      ['multiply', false],
      ['fail', true],
    ]);
    for (const { beganMs, endedMs } of episode.spans ?? []) expect(endedMs).toBeGreaterThanOrEqual(beganMs);
  });
});

describe('a further attempt', () => {
  it('is passed to the workflow', async () => {
    const engine = createScriptedEngine({ chatTokenizer, replies: ['x'] });
    const policy = { kind: 'engine', engine, chatTokenizer } as const;
    const options = { workflow: (_task: Task, tuner: Tuner) => ({ reward: tuner.attempt }), policy, sampling };
    const episode = await runEpisode(task, { ...options, timeoutMs: 30_000 }, { ...identity, attempt: 2 });
    expect(episode).toMatchObject({ reward: 2, attempt: 2, seed: identity.seed });
    expect(await run(options.workflow)).toMatchObject({ reward: 1 });
  });
});

function toResponse(content: string): ChatResponse {
  const message = { role: 'assistant', content } as const;
  const usage = { promptTokens: 1, completionTokens: 1 };
  return { id: content, model: 'api', message, finishReason: 'stop', usage, logprobs: [] };
}
