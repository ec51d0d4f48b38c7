import { findLoss } from '@agentjet/core/success';
import { describe, expect, it } from 'vitest';
import type { EpisodesChunk, Said, TokenRun, TreeBranch } from '../wire.js';
import { alignMessages } from './align-messages.js';
import { EpisodeStore, selectRows } from './episode-store.js';
import { showAge, showNumber, showSeconds, showSigned, markHidden } from './format.js';
import { groupsOfStep } from './groups-of-step.js';
import { smooth } from '@agentjet/run-folder/curve';
import { readDeltas } from './read-deltas.js';
import { groupMetrics, withoutUnmeasured } from './metric-groups.js';
import { formatRoute, parseRoute } from './route.js';
import { fateOf, sumUp } from './sum-up.js';
import { lineAt, nextSurprise, shadeOf, toTokenLines } from './token-lines.js';

describe('an address', () => {
  it('names its view, its item and its filters, and is read back', () => {
    const route = { view: 'episode', run: 'abc', item: 'e1/ä ?#-r0', query: { show: 'tokens', token: '4' } } as const;
    expect(formatRoute(route)).toBe('#/run/abc/episode/e1%2F%C3%A4%20%3F%23-r0?show=tokens&token=4');
    expect(parseRoute(formatRoute(route))).toEqual(route);
    expect(parseRoute(formatRoute({ view: 'compare', query: { runs: 'a,b' } }))).toMatchObject({
      view: 'compare',
      query: { runs: 'a,b' },
    });
  });

  it('leads to the table of runs if it is not one of ours', () => {
    for (const hash of ['', '#', '#/', '#/none', '#/run', '#/run/a/none', '#/%E0%A4'])
      expect(parseRoute(hash)).toMatchObject({ view: 'runs', run: '' });
  });

  it('leaves out an empty filter', () => {
    expect(formatRoute({ view: 'episodes', run: 'a', query: { phase: '', sort: '-step' } })).toBe(
      '#/run/a/episodes?sort=-step',
    );
  });
});

describe('numbers', () => {
  it('are short, without exponents of programmers', () => {
    expect([0.1234567, 1234567, 0.00005, -0.0000123, 12, 1234.5, null, undefined, NaN].map(showNumber)).toEqual([
      '0.123',
      '1 234 567',
      '5×10⁻⁵',
      '-1.2×10⁻⁵',
      '12',
      '1 235',
      '–',
      '–',
      '–',
    ]);
    expect([0.4, 12, 185, 7800, null].map(showSeconds)).toEqual(['0.4 s', '12 s', '3 min 5 s', '2 h 10 min', '–']);
    expect([0.24, -0.05].map(showSigned)).toEqual(['+0.24', '−0.05']);
    expect([0, 300_000, 11_000_000, 1_040_000_000].map((ms) => showAge(0, ms))).toEqual([
      'just now',
      '5 min ago',
      '3 h ago',
      '12 days ago',
    ]);
  });

  it('of hidden characters are shown in place of them', () => {
    expect(markHidden('a\u202Eb\u0000c\u200Bd\té\n🙂')).toBe('a‹202E›b‹0000›c‹200B›d\té\n🙂');
  });
});

const chunk = (
  rows: readonly Partial<
    Record<
      'reward' | 'success' | 'step' | 'tokens' | 'trained' | 'evaluation' | 'refused' | 'toolErrors',
      number | null
    >
  >[],
  isReset = true,
): EpisodesChunk => {
  const numbers = (name: keyof (typeof rows)[number], otherwise = 0) =>
    rows.map((row) => Number(row[name] ?? otherwise));
  const names = (values: readonly string[]) => ({ names: values, at: rows.map((_row, at) => at % values.length) });
  return {
    cursor: '0-1',
    isReset,
    length: rows.length,
    id: rows.map((_row, at) => `e${at}`),
    offset: rows.map((_row, at) => at * 10),
    step: numbers('step', 1),
    evaluation: numbers('evaluation'),
    reward: rows.map(({ reward }) => reward ?? null),
    success: numbers('success'),
    scored: rows.map(() => 1),
    repeat: rows.map(() => 0),
    tokens: numbers('tokens'),
    trained: numbers('trained'),
    seconds: rows.map(() => 1),
    calls: rows.map(() => 1),
    cut: rows.map(() => 0),
    refused: numbers('refused'),
    toolErrors: numbers('toolErrors'),
    task: names(['t10', 't9']),
    group: names(['g']),
    kind: names(['sum', 'date']),
    error: { names: ['', 'timeout'], at: rows.map(({ reward }) => (reward === null ? 1 : 0)) },
    forks: names(['']),
    agents: names(['solver']),
  };
};

describe('the table of episodes', () => {
  const store = new EpisodeStore();
  store.append(
    chunk([
      { reward: 0, tokens: 5 },
      { reward: 1, success: 1, tokens: 9, toolErrors: 2 },
      { reward: null, tokens: 7, evaluation: 1, refused: 1 },
    ]),
  );

  it('is filtered by result, phase, step and kind', () => {
    const idsOf = (filter: Parameters<typeof selectRows>[1]) => [...selectRows(store, filter)];
    expect(idsOf({})).toEqual([0, 1, 2]);
    expect(idsOf({ result: 'success' })).toEqual([1]);
    expect(idsOf({ result: 'failure' })).toEqual([0, 2]);
    expect(idsOf({ result: 'error' })).toEqual([2]);
    expect(idsOf({ result: 'tool-error' })).toEqual([1]);
    expect(idsOf({ result: 'refused' })).toEqual([2]);
    expect(idsOf({ sort: '-toolErrors' })[0]).toBe(1);
    expect(idsOf({ phase: 'evaluation' })).toEqual([2]);
    expect(idsOf({ kind: 'date' })).toEqual([1]);
    expect(idsOf({ step: '2' })).toEqual([]);
    expect([...selectRows(store, {}, new Set(['1.10']))]).toEqual([1]);
  });

  it('is sorted both ways with missing rewards last, and by names with their numbers', () => {
    const idsOf = (sort: string) => [...selectRows(store, { sort })];
    expect([idsOf('reward'), idsOf('-reward'), idsOf('-tokens'), idsOf('task'), idsOf('unknown')]).toEqual([
      [0, 1, 2],
      [1, 0, 2],
      [1, 2, 0],
      [1, 0, 2],
      [0, 1, 2],
    ]);
  });

  it('grows by chunks, and begins again after a rewind', () => {
    const growing = new EpisodeStore();
    growing.append(chunk([{ reward: 1 }]));
    growing.append(chunk([{ reward: 0 }], false));
    expect([growing.length, growing.reward]).toEqual([2, [1, 0]]);
    growing.append(chunk([{ reward: 0.5 }]));
    expect([growing.length, growing.reward]).toEqual([1, [0.5]]);
  });
});

describe('a group of a step', () => {
  const groupOf = (rows: Parameters<typeof chunk>[0]) => {
    const store = new EpisodeStore();
    store.append(chunk(rows));
    return groupsOfStep(store, 1, false)[0];
  };

  it('has its episodes by reward, its mean and its spread', () => {
    expect(
      groupOf([
        { reward: 0, trained: 3 },
        { reward: 1, trained: 3 },
      ]),
    ).toMatchObject({ rows: [1, 0], mean: 0.5, spread: 1, idle: undefined });
  });

  it('says why it has no gradient', () => {
    expect(groupOf([{ reward: 0 }, { reward: 0 }])?.idle).toContain('every reward is 0');
    expect(groupOf([{ reward: null }, { reward: null }])?.idle).toContain('every episode failed');
    expect(groupOf([{ reward: 1 }, { reward: null }])?.idle).toContain('only one episode');
    expect(groupOf([{ reward: 1 }, { reward: 0 }])?.idle).toContain('left out of training');
  });
});

describe('metrics', () => {
  it('are grouped, without those that are always 0', () => {
    const groups = groupMetrics([
      { step: 1, reward_mean: 0.5, kl: 0, seconds_training: 2, 'workflow/days': 3, zeta: 1, success_low: 0.1 },
    ]);
    expect(groups).toEqual([
      { title: 'Reward and success', metrics: ['reward_mean'] },
      { title: 'Time', metrics: ['seconds_training'] },
      { title: 'Your workflow', metrics: ['workflow/days'] },
      { title: 'Other', metrics: ['zeta'] },
    ]);
  });

  it('have no loss and no entropy for a step that trained nothing', () => {
    const line = { step: 2, trained_tokens: 0, loss: 0, entropy: 0, reward_mean: 0 };
    expect(withoutUnmeasured(line)).toEqual({ step: 2, trained_tokens: 0, reward_mean: 0 });
    expect(withoutUnmeasured({ ...line, trained_tokens: 7 })).toMatchObject({ loss: 0, entropy: 0 });
  });

  it('are smoothed around each step, so that the ends keep their values', () => {
    expect(smooth([0, 3, 6, 3, null, 9], 3)).toEqual([0, 3, 4, 4.5, null, 9]);
  });
});

describe('an answer that is being written', () => {
  const streamOf = (...pieces: readonly string[]) =>
    new ReadableStream<Uint8Array>({
      start: (stream) => {
        for (const piece of pieces) stream.enqueue(new TextEncoder().encode(piece));
        stream.close();
      },
    });
  const line = (content: string) => `data: ${JSON.stringify({ choices: [{ delta: { content } }] })}\n\n`;

  it('is read piece by piece, wherever the stream is cut', async () => {
    const whole = `${line('The ')}: a comment\n${line('goal')}data: {"choices":[]}\n\ndata: [DONE]\n\n`;
    for (let at = 1; at < whole.length; at += 7) {
      let said = '';
      for await (const piece of readDeltas(streamOf(whole.slice(0, at), whole.slice(at)))) said += piece;
      expect(said).toBe('The goal');
    }
  });

  it('has the calls of tools, which may be all that a model says', async () => {
    const call = (piece: object): string =>
      `data: ${JSON.stringify({ choices: [{ delta: { tool_calls: [{ index: 0, function: piece }] } }] })}\n`;
    let said = '';
    const pieces = `${call({ name: 'calculator', arguments: '' })}${call({ arguments: '{"a":' })}${call({ arguments: '2}' })}`;
    for await (const piece of readDeltas(streamOf(pieces))) said += piece;
    expect(said.trim()).toBe('calls calculator {"a":2}');
  });

  it('ends with the error of the server', async () => {
    const read = async () => {
      for await (const _piece of readDeltas(streamOf(`${line('a')}data: {"error":{"message":"too long"}}\n`)));
    };
    await expect(read()).rejects.toThrow('too long');
  });
});

describe('the first question', () => {
  const point = (step: number, rate: number, low: number, high: number) => ({
    step,
    rate,
    low,
    high,
    episodes: 50,
    reward: rate,
  });
  const run = { step: 10, reward: 0.5, rewardSteps: 5, change: null } as Parameters<typeof sumUp>[0]['run'];

  const said = (of: Partial<Parameters<typeof sumUp>[0]>) => sumUp({ run, evaluations: [], loss: null, ...of });

  it('is answered with intervals', () => {
    const [before, after] = [point(0, 0.4, 0.3, 0.5), point(10, 0.9, 0.8, 0.95)];
    expect(said({ evaluations: [before, after] })).toMatchObject({ tone: 'good', word: 'It learned' });
    expect(said({ evaluations: [after, before].map((each, at) => ({ ...each, step: at })) })).toMatchObject({
      tone: 'bad',
    });
    const paired = { ...run, change: { difference: 0.05, low: -0.02, high: 0.12 } };
    expect(said({ run: paired, evaluations: [before, { ...before, step: 10 }] })).toMatchObject({
      word: 'Within noise',
    });
    expect(said({ evaluations: [before] }).word).toBe('Measured once');
    expect(said({ evaluations: [] }).sentence).toContain('no evaluation');
  });

  it('names the best evaluation if the last one is worse by more than chance', () => {
    const [before, best] = [point(0, 0.03, 0.01, 0.11), point(18, 0.78, 0.66, 0.87)];
    const evaluations = [before, best, point(36, 0.47, 0.35, 0.59)];
    const verdict = said({ evaluations, loss: findLoss(evaluations) ?? null });
    expect(verdict).toMatchObject({ tone: 'bad', word: 'It learned, then lost some of it' });
    expect(verdict.sentence).toContain('at step 18');
    expect(said({ evaluations }).word).toBe('It learned');
  });

  it('is asked of each task', () => {
    const trials = (successes: number, count = 1) => ({ successes, trials: count, episode: 'e', ref: '0.0' });
    const fate = (before: number, after: number) =>
      fateOf({ task: 't', kind: '', before: trials(before), after: trials(after) });
    expect([fate(0, 1), fate(1, 0), fate(0, 0), fate(1, 1)]).toEqual(['learned', 'lost', 'never', 'always']);
    expect(fateOf({ task: 't', kind: '', before: trials(1, 2), after: trials(1, 2) })).toBe('partly');
    expect(fateOf({ task: 't', kind: '', before: null, after: trials(1) })).toBe('once');
  });
});

describe('tokens', () => {
  const run = (texts: readonly string[], more: Partial<TokenRun> = {}): TokenRun => ({
    author: 'user',
    turns: [],
    start: 0,
    ids: texts.map((_text, at) => at),
    texts,
    ...more,
  });
  const branch = (...runs: readonly TokenRun[]): TreeBranch => ({
    parent: null,
    depth: 0,
    start: 0,
    end: 9,
    rows: [0],
    forks: [],
    runs,
  });
  const lines = toTokenLines(
    [
      branch(
        run(['ab', 'cd\n', 'ef']),
        run(['x', 'y'], { author: 'generated', logprobs: [-0.01, -3], advantages: 0.5 }),
      ),
    ],
    4,
  );

  it('are cut into lines by width and line ends, each token in one line', () => {
    expect(lines.map((line) => (line.kind === 'branch' ? 'branch' : [line.at, line.from, line.to]))).toEqual([
      'branch',
      [0, 0, 1],
      [1, 1, 2],
      [2, 2, 3],
      [3, 0, 2],
    ]);
    expect([0, 1, 2, 3, 4, 5].map((at) => lineAt(lines, at))).toEqual([1, 2, 3, 4, 4, -1]);
  });

  it('surprise if they were unlikely, and are coloured by what was recorded', () => {
    expect([nextSurprise(lines, -1), nextSurprise(lines, 4)]).toEqual([4, 4]);
    const sampled = run(['x', 'y'], { logprobs: [-0.01, -3], advantages: [0, -2], gaps: [0, 0.2] });
    expect((['author', 'logprob', 'advantage', 'gap'] as const).map((shade) => shadeOf(sampled, 1, shade))).toEqual([
      '',
      'p0',
      'n3',
      'g2',
    ]);
    expect(shadeOf(sampled, 0, 'advantage')).toBe('zero');
    expect(shadeOf(run(['x']), 0, 'logprob')).toBe('');
  });
});

it('two conversations part at the first message that differs', () => {
  const said = (author: string, text: string): Said => ({ author, agent: 'a', text, tokens: 1 });
  const [same, one, other] = [said('user', 'Add.'), said('generated', '3 * 4'), said('generated', '3 / 4')];
  expect(alignMessages([same, one], [same, other])).toMatchObject({ firstDifference: 1, sharedLength: 2 });
  expect(alignMessages([same], [same]).firstDifference).toBeUndefined();
  expect(alignMessages([same], [same, one])).toMatchObject({ firstDifference: 1, sharedLength: 0 });
});
