import type { ChatMessage } from '@agentjet/core';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Branch, createContextTracker, type EpisodeTree, layOutEpisode, type TurnDescription } from '../index.js';
import { createToyChatTokenizer } from '../testing.js';
import { createPlayer } from '../testing/play.js';
import { programs, runProgram } from '../testing/random-agent.js';

const chatTokenizer = createToyChatTokenizer({ thinking: 'strip' });
const user: ChatMessage = { role: 'user', content: 'U' };

type Row = { readonly ids: readonly number[]; readonly lossMask: readonly number[] };

const row = (ids: readonly number[], lossMask: readonly number[]): Row => ({ ids, lossMask });

function turn(sample: number, changes: Partial<TurnDescription>): TurnDescription {
  const rest = {
    turnId: 't',
    index: 0,
    agentName: 'a',
    targetTag: 'a',
    reusedTokens: 0,
    policyVersion: 0,
    isTruncated: false,
    fork: null,
    splices: [],
    foreignMessages: {},
    parts: [],
  };
  return { promptTokens: 0, generatedTokens: 0, ...rest, sample, ...changes };
}

/** Lists the branches, parents first. */
function flatten(branches: readonly Branch[]): readonly Branch[] {
  return branches.flatMap((branch) => [branch, ...flatten(branch.children)]);
}

function pathOf({ branches }: EpisodeTree, row: number): readonly Branch[] {
  return flatten(branches).filter(({ rows }) => rows.includes(row));
}

/** Returns the author of each token of a row, read from the tree. */
function authorsOf(tree: EpisodeTree, row: number): readonly string[] {
  return pathOf(tree, row).flatMap(({ spans }) =>
    spans.flatMap(({ start, end, author, turns }) =>
      Array.from({ length: end - start }, () => [author, ...turns].join(' ')),
    ),
  );
}

describe('an episode of two rows that share their prompt and an answer', () => {
  const rows = [row([5, 6, 8, 9, 7, 4], [0, 0, 1, 1, 0, 1]), row([5, 6, 8, 9, 3, 2], [0, 0, 0, 0, 0, 1])];
  const turns = [
    turn(0, { index: 0, promptTokens: 2, generatedTokens: 2, parts: [{ author: 'user', start: 1, end: 2 }] }),
    turn(0, { index: 1, promptTokens: 5, generatedTokens: 1, reusedTokens: 4 }),
    turn(1, {
      index: 2,
      promptTokens: 5,
      generatedTokens: 1,
      reusedTokens: 4,
      fork: 'rewritten',
      parts: [{ author: 'foreign', start: 4, end: 5 }],
    }),
  ];

  test('is one branch up to the fork, and two branches after it', () => {
    const { branches, treeTokens, rowTokens } = layOutEpisode(rows, turns);
    expect([treeTokens, rowTokens]).toEqual([8, 12]);
    expect(branches).toEqual([
      {
        start: 0,
        end: 4,
        ids: Int32Array.of(5, 6, 8, 9),
        rows: [0, 1],
        begun: [0],
        size: 8,
        spans: [
          { author: 'template', turns: [], start: 0, end: 1 },
          { author: 'user', turns: [], start: 1, end: 2 },
          { author: 'generated', turns: [0], start: 2, end: 4 },
        ],
        children: [
          {
            start: 4,
            end: 6,
            ids: Int32Array.of(7, 4),
            rows: [0],
            begun: [1],
            size: 2,
            children: [],
            spans: [
              { author: 'template', turns: [], start: 4, end: 5 },
              { author: 'generated', turns: [1], start: 5, end: 6 },
            ],
          },
          {
            start: 4,
            end: 6,
            ids: Int32Array.of(3, 2),
            rows: [1],
            begun: [2],
            size: 2,
            children: [],
            spans: [
              { author: 'foreign', turns: [], start: 4, end: 5 },
              { author: 'generated', turns: [2], start: 5, end: 6 },
            ],
          },
        ],
      },
    ]);
  });
});

describe('calls that sampled the same tokens from the same prompt', () => {
  test('are in one place, which names both', () => {
    const rows = [row([5, 8, 9], [0, 1, 1]), row([5, 8, 9], [0, 1, 1]), row([5, 8, 7], [0, 1, 1])];
    const { branches } = layOutEpisode(
      rows,
      [0, 1, 2].map((index) => turn(index, { index, promptTokens: 1, generatedTokens: 2 })),
    );
    expect(flatten(branches).map(({ rows: through, spans }) => [through, spans.map(({ turns }) => turns)])).toEqual([
      [
        [0, 1, 2],
        [[], [0, 1, 2]],
      ],
      [[0, 1], [[0, 1]]],
      [[2], [[2]]],
    ]);
  });
});

test('an episode without rows has no branches', () => {
  expect(layOutEpisode([], [])).toEqual({
    branches: [],
    turns: [],
    treeTokens: 0,
    rowTokens: 0,
  });
});

test('a template that strips thinking forks at each question, and says so at the fork', () => {
  const tracker = createContextTracker({ episodeId: 'e', chatTokenizer });
  const { say } = createPlayer(tracker, chatTokenizer);
  const history: ChatMessage[] = [user];
  for (const answer of ['one', 'two']) history.push(say(history, `<think>\nx\n</think>\n\n${answer}`), user);
  const turns = tracker.describe();
  const tree = layOutEpisode(toRows(tracker), turns);
  const [first, second] = tree.branches[0]?.children ?? [];
  expect([first, second].map((branch) => branch?.begun.map((index) => turns[index]?.fork))).toEqual([[], ['template']]);
  expect(second?.spans.map(({ author }) => author)).toEqual(['model', 'template', 'user', 'template', 'generated']);
});

function toRows(tracker: ReturnType<typeof createContextTracker>): readonly Row[] {
  return tracker.finish().map(({ ids, lossMask }) => ({ ids: [...ids], lossMask: [...lossMask] }));
}

test('for any behaviour of agents, the tree holds every row, and each generated token with the turns that sampled it', () => {
  const property = fc.property(programs, (program) => {
    const tracker = createContextTracker({ episodeId: 'e', chatTokenizer });
    runProgram(program, tracker, chatTokenizer, { order: (count) => [...Array(count).keys()] });
    const rows = toRows(tracker);
    const tree = layOutEpisode(rows, tracker.describe());
    for (const [index, { ids, lossMask }] of rows.entries()) {
      const authors = authorsOf(tree, index);
      expect(
        pathOf(tree, index)
          .flatMap((branch) => [...branch.ids])
          .slice(0, ids.length),
      ).toEqual(ids); // a row may end inside another row
      expect(lossMask.every((mask, at) => mask === 0 || authors[at]?.startsWith('generated'))).toBe(true);
    }
    const shown = new Set(flatten(tree.branches).flatMap(({ spans }) => spans.flatMap(({ turns }) => turns)));
    expect(shown).toEqual(
      new Set(tree.turns.flatMap(({ index, generatedTokens }) => (generatedTokens > 0 ? [index] : []))),
    );
    const begun = flatten(tree.branches)
      .flatMap((branch) => branch.begun)
      .sort((left, right) => left - right);
    expect(begun).toEqual(tree.turns.flatMap(({ index, sample }) => (sample === null ? [] : [index])));
  });
  fc.assert(property, { numRuns: 150 });
});
