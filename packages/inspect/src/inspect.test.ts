import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { inspectEpisode, type InspectedEpisode } from './episode/read-episode.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { formatEpisode } from './terminal/format-episode.js';
import { formatTokens } from './terminal/format-tokens.js';
import { choosePalette, colourPalette, plainPalette } from './terminal/palette.js';

/**
 * Two calls of one episode. The second call sends the first answer in another spelling and a foreign message, and
 * forks. Ids are letters of an invented alphabet.
 */
const decoder = { push: (id: number) => String.fromCodePoint(id), flush: () => '' };
const ids = (text: string): number[] => [...text].map((letter) => letter.codePointAt(0) ?? 0);
const masked = (text: string, spans: readonly (readonly [number, number])[]): number[] =>
  ids(text).map((_, at) => Number(spans.some(([start, end]) => at >= start && at < end)));

function sample(text: string, spans: readonly (readonly [number, number])[]) {
  const mask = masked(text, spans);
  return {
    agent_name: 'solver',
    target_tag: 'math',
    ids: ids(text),
    loss_mask: mask,
    logprobs: mask.map((one, at) => (one === 1 ? -0.5 * (at % 3) : 0)),
    advantages: mask.map((one) => one * 0.75),
    policy_versions: mask.map((one) => one * 5 - 1),
  };
}

const turn = {
  agent_name: 'solver',
  target_tag: 'math',
  policy_version: 4,
  is_truncated: false,
  fork: null,
  splices: [],
  foreign_messages: {},
};
const turns = [
  {
    ...turn,
    turn_id: 'e1/0',
    index: 0,
    prompt_tokens: 6,
    reused_tokens: 0,
    generated_tokens: 3,
    sample: 0,
    parts: [{ author: 'user', name: 'eve', start: 1, end: 4 }],
  },
  {
    ...turn,
    turn_id: 'e1/1',
    index: 1,
    prompt_tokens: 8,
    reused_tokens: 6,
    generated_tokens: 2,
    sample: 1,
    is_truncated: true,
    fork: 'rewritten',
    splices: [{ turn: 0, cause: 'text' }],
    foreign_messages: { unknown: 1 },
    parts: [{ author: 'foreign', start: 6, end: 7 }],
  },
];
const record = {
  episode_id: 'e1-<b>-r0',
  step: 3,
  phase: 'train',
  task_id: 'sum',
  status: 'completed',
  reward: 0.5,
  is_success: false,
  seconds: 2,
  calls: { answered: 2, aborted: 0, malformedToolCalls: 1 },
  forks: { solver: { rewritten: 1 } },
  splices: { solver: { text: 1 } },
  foreign_messages: { solver: { unknown: 1 } },
  generated_tokens: 5,
  trained_tokens: 5,
  log_metrics: { moves: 7 },
  turns,
  samples: [sample('[1+\n]:2\u001b&', [[6, 9]]), sample('[1+\n]:x|<b', [[8, 10]])],
};

let dir: string;

beforeAll(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'inspect-'));
});
afterAll(() => rm(dir, { recursive: true, force: true }));

let numRuns = 0;

async function inspect(episode: object = record): Promise<InspectedEpisode> {
  const run = path.join(dir, String(numRuns++));
  await mkdir(path.join(run, 'episodes'), { recursive: true });
  await writeFile(path.join(run, 'config.yaml'), 'ajet:\n  model:\n    path: nano\n');
  await writeFile(path.join(run, 'rules.json'), '{"schedule":"loop_steps"}\n');
  await writeFile(path.join(run, 'episodes', 'step-000003.jsonl'), `${JSON.stringify(episode)}\n`);
  return { ...(await inspectEpisode(run, 'e1')), createDecoder: () => decoder };
}

describe('in the terminal', () => {
  it('an episode is said in facts, calls and a tree', async () => {
    await expect(`${[...formatEpisode(await inspect(), plainPalette)].join('\n')}\n`).toMatchFileSnapshot(
      'golden/episode.txt',
    );
  });

  it('a table has a line per token: who wrote it, mask, logprob', async () => {
    await expect(`${[...formatTokens(await inspect())].join('\n')}\n`).toMatchFileSnapshot('golden/tokens.txt');
  });

  it('likelier tokens are brighter, and what a model writes does not steer the terminal', async () => {
    const lines = [...formatEpisode(await inspect(), colourPalette)].join('\n');
    expect(lines).toContain('\u001b[38;5;46m2\u001b[0m\u001b[38;5;40m␛\u001b[0m\u001b[38;5;28m&\u001b[0m');
  });

  it('an episode from before calls were kept is refused, with the commit that reads it', async () => {
    const { turns: _, ...old } = record;
    await expect(inspect(old)).rejects.toThrow(/written in an older format.* at commit [0-9a-f]{8}/);
  });

  it('one that failed says why, and one without samples has no tree', async () => {
    const lines = [
      ...formatEpisode(
        await inspect({
          ...record,
          status: 'failed',
          reward: undefined,
          error: { code: 'timeout', message: 'too slow' },
          turns: [],
          samples: [],
        }),
        plainPalette,
      ),
    ];
    expect(lines).toContainEqual(expect.stringMatching(/outcome +failed after 2.0 s: too slow/));
    expect(lines.filter((line) => line.includes('●'))).toEqual([]);
  });

  it('what an error or a name holds does not steer the terminal', async () => {
    const named = turns.map((each) => ({ ...each, agent_name: 'sol\u001b[2Jver' }));
    const episode = await inspect({ ...record, turns: named, status: 'failed', error: 'boom \u001b[2J\u0007' });
    const text = [...formatEpisode(episode, plainPalette)].join('\n');
    expect(text).toContain('boom ␛[2J␇');
    expect(text).toContain('sol␛[2Jver');
    expect(['\u001b', '\u0007'].filter((control) => text.includes(control))).toEqual([]);
  });

  it('without a tokenizer ids are shown', async () => {
    const episode: InspectedEpisode = { ...(await inspect()), createDecoder: undefined };
    expect([...formatEpisode(episode, plainPalette)].join('\n')).toContain('⟦‹50›‹27›‹38›⟧');
  });

  it('colours are for terminals that have them, unless the environment says otherwise', () => {
    const terminal = {
      isTTY: true,
      hasColors: (_: number, env: NodeJS.ProcessEnv) => env['TERM'] !== 'dumb',
    } as unknown as NodeJS.WriteStream;
    const file = { isTTY: false } as unknown as NodeJS.WriteStream;
    expect([
      choosePalette(terminal, {}),
      choosePalette(terminal, { TERM: 'dumb' }),
      choosePalette(terminal, { NO_COLOR: '1' }),
    ]).toEqual([colourPalette, plainPalette, plainPalette]);
    expect([choosePalette(file, {}), choosePalette(file, { FORCE_COLOR: '1' })]).toEqual([plainPalette, colourPalette]);
  });
});
