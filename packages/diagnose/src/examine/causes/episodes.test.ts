import { describe, expect, it } from 'vitest';
import { examine } from '../examine.js';
import type { EpisodeOf, ExaminedRun } from '../examined-run.js';
import { emptySeries } from '../figures/series.js';
import { plainEpisode } from '../testing/simulate-run.js';

type Changes = Partial<EpisodeOf>;

/** Ten steps of 4 groups of 4 episodes. `change` says what is special about an episode; `at` counts within its group. */
function runWith(change: (episode: EpisodeOf, at: number) => Changes, more: Partial<ExaminedRun> = {}): ExaminedRun {
  const episodes = Array.from({ length: 160 }, (_, index): EpisodeOf => {
    const [step, at] = [Math.floor(index / 16) + 1, index % 4];
    const plain: EpisodeOf = {
      ...plainEpisode,
      id: `e${index}`,
      step,
      phase: 'train',
      group: `g${Math.floor((index % 16) / 4)}`,
      task: `t${Math.floor((index % 16) / 4)}`,
      reward: at % 2,
      success: at % 2 === 1,
      tokens: 10,
      answer: `${index}`,
      tokensHash: `${index}`,
    };
    return { ...plain, ...change(plain, at) };
  });
  const base = {
    steps: 10,
    figures: { reward: { steps: [1], values: [0.5] } },
    groups: emptySeries,
    parts: new Map(),
    evaluations: [],
    settings: {},
  };
  return { source: 'run folder', ...base, episodes, ...more };
}

const causesOf = (...given: Parameters<typeof runWith>): readonly string[] =>
  examine(runWith(...given)).findings.map(({ cause }) => cause);

it('episodes without anything special show nothing', () => {
  expect(causesOf(() => ({}))).toEqual([]);
});

it('a tool that answers with errors is a swallowed error, unless the calls were wrong', () => {
  const broken = { toolResults: 2, toolErrors: 2, success: false, reward: 0 };
  expect(causesOf((_episode, at) => (at < 3 ? broken : {}))[0]).toBe('swallowed_errors');
  expect(causesOf((_episode, at) => (at < 3 ? { ...broken, badCalls: 2 } : {}))).not.toContain('swallowed_errors');
  expect(causesOf((_episode, at) => ({ ...broken, toolErrors: at % 2 }))).not.toContain('swallowed_errors');
});

it('a judge that could not be reached is an outage, also if it answered in the end', () => {
  const figures = {
    reward: { steps: [1], values: [0.5] },
    outages: { steps: [1, 2], values: [0, 0] },
    judge_outages: { steps: [1, 2], values: [0, 0.25] },
  };
  const run = runWith(({ step }, at) => (step === 2 && at === 0 ? { waited: 30 } : {}), { figures });
  const [found] = examine(run).findings;
  expect(found).toMatchObject({ cause: 'outages', asks: 'change', since: 2, episodes: ['e16', 'e20', 'e24'] });
  expect(found?.summary).toMatch(/^13% of the episodes waited for a judge .* one of them for 30 s/);
  const rare = { ...figures, judge_outages: { steps: [1, 2], values: [0, 0.08] } };
  expect(causesOf(() => ({}), { figures: rare })).toEqual([]);
});

describe('answers that are exactly the expected one', () => {
  const equal = { answer: '12', expected: '12', success: false, reward: 0 };
  it('and are all refused show a form that the prompt does not name', () => {
    expect(causesOf(() => equal)).toEqual(['format_not_met']);
  });
  it('and are refused in part do not', () => {
    expect(causesOf((_, at) => ({ ...equal, success: at % 2 === 1, tokensHash: 'a' }))).not.toContain('format_not_met');
  });
  it('except for white space do not', () => {
    expect(causesOf(() => ({ ...equal, expected: '12\r' }))).not.toContain('format_not_met');
  });
});

describe('the judge', () => {
  it('is unstable if equal tokens, or equal answers, are judged differently', () => {
    expect(causesOf(({ group }) => ({ tokensHash: group }))).toContain('judge_unstable');
    expect(causesOf(({ group }) => ({ answer: group, expected: '42' }))).toContain('judge_unstable');
    expect(causesOf(({ group }) => ({ answer: group }))).toEqual([]);
  });

  it('is not unstable if the tokens of another policy decide, too', () => {
    const settings = { isOneOfSeveral: true };
    expect(causesOf(({ group }) => ({ tokensHash: group }), { settings })).not.toContain('judge_unstable');
  });

  it('has not decided if nearly all rewards are one value in the middle, but has if all are 0', () => {
    expect(causesOf(() => ({ reward: 0.5 }))[0]).toBe('judge_undecided');
    expect(causesOf(() => ({ reward: 0, success: false }))).toEqual([]);
  });
});

describe('the form of answers', () => {
  const wrong = { reward: 0, success: false };

  it('is not met if refused answers are empty, or contain the right one', () => {
    expect(causesOf((_, at) => (at % 2 === 1 ? {} : { ...wrong, answer: ' ' }))).toEqual(['format_not_met']);
    expect(causesOf((_, at) => (at % 2 === 1 ? {} : { ...wrong, answer: 'It is 42.', expected: '42' }))).toEqual([
      'format_not_met',
    ]);
  });

  it('is met if the right answer is only a part of another word or number', () => {
    expect(causesOf((_, at) => (at % 2 === 1 ? {} : { ...wrong, answer: 'It is 142.', expected: '42' }))).toEqual([]);
  });

  it('is met if the judge only says that the answer is wrong', () => {
    expect(causesOf((_, at) => (at % 2 === 1 ? {} : { ...wrong, reason: '7 is wrong' }))).toEqual([]);
    expect(causesOf((_, at) => (at % 2 === 1 ? {} : { ...wrong, reason: 'no JSON was found' }))).toEqual([
      'format_not_met',
    ]);
  });
});

describe('the reward', () => {
  it('is hollow if failures earn as much as successes, within groups', () => {
    const [first] = examine(runWith((_, at) => ({ reward: [0, 1, 3, 2][at] ?? 0 }))).findings;
    expect(first?.cause).toBe('hollow_reward');
    expect(first?.summary).toMatch(/^The reward does not follow success: of 40 groups/);
  });

  it('follows success if a strict success begins to rise long after it', () => {
    expect(causesOf(({ step }, at) => ({ reward: (step + at) / 20, success: step === 10 && at === 3 }))).toEqual([]);
  });

  it('has a part that owns it if this part has nothing to do with success', () => {
    const parts = new Map(['form', 'right'].map((name) => [name, emptySeries]));
    const changes = (_: EpisodeOf, at: number): Changes => {
      const [form, right] = [[0, 1, 3, 2][at] ?? 0, at % 2];
      return { reward: form + 0.01 * right, parts: { form, right: 0.01 * right } };
    };
    expect(causesOf(changes, { parts })[0]).toBe('one_part');
    const useful = (_: EpisodeOf, at: number): Changes => ({ parts: { form: 1, right: at % 2 } });
    expect(causesOf(useful, { parts })).toEqual([]);
  });
});

describe('tools', () => {
  it('may be unused or refused, and an agent without tools has no such finding', () => {
    expect(causesOf(() => ({ withTools: 2 }))).toEqual(['tools_not_called']);
    expect(causesOf(() => ({ withTools: 2, callingTools: 1, badCalls: 1 }))).toEqual(['tools_refused']);
    expect(causesOf(() => ({ withTools: 2, callingTools: 1 }))).toEqual([]);
  });
});

describe('steps', () => {
  it('wait for stragglers if one episode takes much longer than nearly all others', () => {
    expect(causesOf(({ id }) => ({ seconds: Number(id.slice(1)) % 16 === 5 ? 30 : 2 }))).toEqual(['stragglers']);
    expect(causesOf(({ id }) => ({ seconds: 1 + (Number(id.slice(1)) % 16) }))).toEqual([]);
  });
});
