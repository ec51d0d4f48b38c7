import { appendFile, mkdir, mkdtemp, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { EpisodeRecord } from '../episode-record.js';
import { createRunFolder, openRunFolder } from '../open-run.js';
import type { RunFolder } from '../run-folder.js';
import type { EpisodeRow } from './episode-row.js';

const configYaml = `ajet:
  trainer_common:
    report_by: level
  task_judge:
    judge_type: answer
    answer: { task_field: gold, output_field: said }
`;

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'episode-index-'));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const newRun = (): Promise<RunFolder> => createRunFolder({ experimentDir: dir, experimentName: 'e', configYaml });
const rowsOf = async (run: { readonly dir: string }): Promise<readonly EpisodeRow[]> => {
  const index = await (await openRunFolder(run.dir)).openIndex();
  const rows: EpisodeRow[] = [];
  for await (const each of index.rows()) rows.push(each);
  return rows;
};
const indexDir = (run: RunFolder): string => path.join(run.dir, 'index');
const indexFile = (run: RunFolder, step: number): string => path.join(indexDir(run), `step-00000${step}.jsonl`);
const linesFile = (run: RunFolder, step: number): string => path.join(run.dir, 'episodes', `step-00000${step}.jsonl`);

const turn = (agent: string, version: number) => ({ agent_name: agent, policy_version: version });
const tokens = { agent_name: 'a', target_tag: 'a', ids: [1, 2], loss_mask: [0, 1] };
const sample = { ...tokens, logprobs: [0, -1], advantages: [0, 1], policy_versions: [-1, 3] };

const completed: EpisodeRecord = {
  episode_id: 'e1-a-r0',
  group_id: 'e1-a',
  task_id: 'a',
  main_query: 'What is 2 + 2? «é»',
  task_metadata: { gold: 4, level: 'easy' },
  repeat_index: 0,
  status: 'completed',
  reward: 0.5,
  is_success: false,
  parts: { form: 0.5 },
  reason: 'It is not 4.',
  seconds: 2,
  calls: { answered: 3, truncated: 1, malformedToolCalls: 1, unknownTools: 1, toolResults: 3, toolErrors: 1 },
  forks: { a: { rewritten: 1 }, b: { rewritten: 2, template: 1 } },
  splices: { a: { text: 2 } },
  generated_tokens: 7,
  trained_tokens: 6,
  metadata: { said: '5', turns: [{ n: 1 }], more: { x: 1, turns: [] } },
  log_metrics: {},
  turns: [turn('a', 3), turn('b', 2), turn('a', 3)],
  samples: [sample],
};

const failed: EpisodeRecord = {
  episode_id: 'e1-b-r1',
  task_id: 'b',
  repeat_index: 1,
  attempt: 2,
  status: 'failed',
  error: { code: 'timeout', message: 'It took too long.', outage: { source: 'model', host: 'h' } },
  seconds: 9,
  turns: [],
  samples: [],
};

const row = {
  episode_id: 'e1-a-r0',
  step: 1,
  phase: 'train',
  offset: 0,
  group_id: 'e1-a',
  task_id: 'a',
  kind: 'easy',
  repeat_index: 0,
  status: 'completed',
  is_scored: true,
  reward: 0.5,
  is_success: false,
  parts: { form: 0.5 },
  seconds: 2,
  generated_tokens: 7,
  trained_tokens: 6,
  calls: 3,
  calls_cut: 1,
  calls_malformed: 2,
  tool_errors: 1,
  forks: { rewritten: 3, template: 1 },
  splices: 2,
  agents: ['a', 'b'],
  policy_versions: [2, 3],
  tokens_hash: expect.stringMatching(/^[\w+/]{16}$/),
};

describe('the row of an episode', () => {
  it('has what tables and rules need, and the place of its line', async () => {
    const run = await newRun();
    await run.recordStep({ step: 1 }, [completed, failed]);
    const [first, second] = await rowsOf(run);
    expect(first).toEqual({ ...row, length: expect.any(Number) });
    expect(second).toMatchObject({ error_code: 'timeout', is_scored: false, reward: null, attempt: 2, group_id: '' });
    const index = await run.openIndex();
    expect(second && (await index.read(second))).toMatchObject({ episode_id: 'e1-b-r1', step: 1, phase: 'train' });
  });

  it('has the same hash for episodes with the same tokens, and none without tokens', async () => {
    const run = await newRun();
    const other = { ...completed, episode_id: 'e1-a-r1', task_metadata: { ids: [9] }, reward: 1 };
    const longer = { ...completed, episode_id: 'e1-a-r2', samples: [sample, { ...sample, ids: [1, 3] }] };
    await run.recordStep({ step: 1 }, [completed, other, longer, failed]);
    const written = (await rowsOf(run)).map(({ tokens_hash: hash }) => hash);
    expect(written[1]).toBe(written[0]);
    expect(written[2]).not.toBe(written[0]);
    expect(written[3]).toBeUndefined();
    await rm(indexDir(run), { recursive: true });
    expect((await rowsOf(run)).map(({ tokens_hash: hash }) => hash)).toEqual(written);
  });

  it('leads to the question, the expected and the given answer, and the reason', async () => {
    const run = await newRun();
    await run.recordStep({ step: 1 }, [completed, failed]);
    const index = await run.openIndex();
    const outcomes = await Promise.all((await index.rowsOf(1)).map((each) => index.readOutcome(each)));
    expect(outcomes).toEqual([
      { question: 'What is 2 + 2? «é»', expected: '4', answered: '5', reason: 'It is not 4.' },
      { error: 'It took too long.' },
    ]);
  });

  it('is found in a run without an index, whose evaluations name the group last', async () => {
    const run = await newRun();
    const { group_id: group, ...rest } = completed;
    await run.recordEvaluation({ step: 1 }, [{ ...rest, group_id: group }]);
    await rm(indexDir(run), { recursive: true });
    expect(await rowsOf(run)).toEqual([{ ...row, phase: 'evaluation', length: expect.any(Number) }]);
  });
});

describe('the index', () => {
  /** Expects the rows to name the same episodes as the lines, in the same order. */
  async function expectFits(run: RunFolder): Promise<void> {
    const rows = await rowsOf(run);
    const index = await run.openIndex();
    const lines = await Promise.all(rows.map((each) => index.read(each)));
    expect(lines.map(({ episode_id: id }) => id)).toEqual(rows.map(({ episode_id: id }) => id));
    const steps = await run.episodes.steps();
    const all = (await Promise.all(steps.map((step) => run.episodes.readStep(step)))).flat();
    expect(all.map(({ episode_id: id }) => id)).toEqual(rows.map(({ episode_id: id }) => id));
  }

  it.each([
    ['lost', (file: string) => rm(file)],
    ['torn', (file: string) => truncate(file, 300)],
    [
      'a folder',
      async (file: string) => {
        await rm(file);
        await mkdir(file);
      },
    ],
    ['not an index', (file: string) => writeFile(file, 'what?\n[1]\n')],
    ['of other episodes', (file: string) => writeFile(file, '{"episode_id":"x","step":1,"offset":0,"length":9}\n')],
  ])('that is %s is not needed, and is written again by a resumed run', async (_what, spoil) => {
    const run = await newRun();
    await run.recordStep({ step: 1 }, [completed, failed]);
    const [rows, text] = [await rowsOf(run), await readFile(indexFile(run, 1), 'utf8')];
    await spoil(indexFile(run, 1));
    expect(await rowsOf(run)).toEqual(rows);
    await run.rewind({ step: 1, policyVersion: 1, groupsDrawn: 1 });
    expect(await readFile(indexFile(run, 1), 'utf8')).toBe(text);
  });

  it('reads the heads of many episodes at once, of any size and in any order', async () => {
    const run = await newRun();
    const sizes = Array.from({ length: 90 }, (_, at) => (at % 9 === 4 ? 40_000 : at % 5 === 1 ? 15_000 : 30));
    const episodes = sizes.map((size, at) => ({
      ...completed,
      episode_id: `e1-a-r${at}`,
      main_query: 'é'.repeat(size),
      samples: [{ ...sample, ids: Array.from({ length: at % 3 === 0 ? 9000 : 2 }, (_none, id) => id) }],
    }));
    await run.episodes.append({ step: 1, phase: 'train' }, episodes);
    const index = await run.openIndex();
    const rows = await index.rowsOf(1);
    for (const chosen of [rows, rows.toReversed(), rows.filter((_, at) => at % 4 === 1)]) {
      const heads = await index.readHeads(1, chosen);
      expect(heads.map((head) => [head['episode_id'], String(head['main_query']).length])).toEqual(
        chosen.map(({ episode_id: id }) => [id, sizes[Number(id.slice('e1-a-r'.length))]]),
      );
    }
  });

  it('is reported if it was changed, and is made again by a resumed run', async () => {
    const run = await newRun();
    await run.recordStep({ step: 1 }, [completed, failed]);
    await run.close();
    const text = await readFile(indexFile(run, 1), 'utf8');
    await writeFile(indexFile(run, 1), text.replace('"reward":0.5', '"reward":0.9'));
    expect(await run.findChanges()).toEqual([expect.stringMatching(/index\/step-000001\.jsonl has changed/)]);
    await run.rewind({ step: 1, policyVersion: 1, groupsDrawn: 1 });
    expect(await readFile(indexFile(run, 1), 'utf8')).toBe(text);
    await run.close();
    expect(await run.findChanges()).toEqual([]);
  });

  it('is not used if another run has rewritten the file of episodes', async () => {
    const run = await newRun();
    await run.recordStep({ step: 1 }, [completed, failed]);
    const lines = (await readFile(linesFile(run, 1), 'utf8')).trimEnd().split('\n');
    await writeFile(linesFile(run, 1), `${lines.toReversed().join('\n')}\n`);
    await expectFits(run);
  });

  it('loses the steps and evaluations that a resumed run repeats', async () => {
    const run = await newRun();
    for (const step of [1, 2, 3]) await run.recordStep({ step }, [completed]);
    await run.episodes.append({ step: 2, phase: 'evaluation' }, [failed]); // its evaluation did not finish
    await run.rewind({ step: 2, policyVersion: 2, groupsDrawn: 2 });
    expect(await readdir(indexDir(run))).toEqual(['step-000001.jsonl', 'step-000002.jsonl']);
    expect((await rowsOf(run)).map(({ step, phase }) => [step, phase])).toEqual([
      [1, 'train'],
      [2, 'train'],
    ]);
    await run.recordEvaluation({ step: 2 }, [failed]);
    expect((await readFile(indexFile(run, 2), 'utf8')).trimEnd().split('\n')).toHaveLength(2);
    await expectFits(run);
  });

  it('of a running run leaves out the line that is being written', async () => {
    const run = await newRun();
    await run.recordStep({ step: 1 }, [completed]);
    await appendFile(linesFile(run, 1), '{"episode_id":"half');
    expect(await rowsOf(run)).toHaveLength(1);
  });

  it('gives a program that follows a run only what was appended', async () => {
    const run = await newRun();
    await run.recordStep({ step: 1 }, [completed]);
    const index = await run.openIndex();
    const [{ offset, length } = { offset: 0, length: 0 }] = await index.rowsOf(1);
    await run.recordEvaluation({ step: 1 }, [failed]);
    const after = await index.rowsOf(1, offset + length + 1);
    expect(after.map(({ episode_id: id }) => id)).toEqual(['e1-b-r1']);
    expect(await index.rowsOf(1, await index.size(1))).toEqual([]);
  });

  it('that cannot be written does not end the run, and is reported once', async () => {
    const notices: string[] = [];
    const { dir: runDir } = await newRun();
    const run = await openRunFolder(runDir, { onNotice: (message) => notices.push(message) });
    await writeFile(indexDir(run), 'a file in its place');
    for (const step of [1, 2]) await run.recordStep({ step }, [completed]);
    expect(notices).toEqual([expect.stringMatching(/^index\/ could not be written, and the run continues without it/)]);
  });

  it('contains the same facts as the lines, for any content of episodes', async () => {
    const json = fc.jsonValue({ maxDepth: 3 });
    const text = fc.string({ unit: 'grapheme' });
    const episode = fc.record(
      {
        episode_id: fc.string({ unit: 'grapheme', minLength: 1 }),
        task_id: text,
        main_query: text,
        status: fc.constantFrom('completed', 'failed'),
        reward: fc.double({ noNaN: true, noDefaultInfinity: true }),
        is_success: fc.boolean(),
        seconds: fc.nat(),
        task_metadata: fc.dictionary(fc.oneof(fc.constant('turns'), fc.constant('samples'), text), json),
        metadata: fc.dictionary(fc.oneof(fc.constant('turns'), fc.constant('group_id'), text), json),
        forks: fc.dictionary(text, fc.dictionary(text, fc.nat())),
        turns: fc.array(fc.record({ agent_name: text, policy_version: fc.nat(), samples: json })),
        samples: fc.constant([sample]),
      },
      { requiredKeys: ['episode_id', 'samples'] },
    );
    let step = 0;
    const run = await newRun();
    await fc.assert(
      fc.asyncProperty(fc.array(episode, { minLength: 1, maxLength: 4 }), async (episodes) => {
        step++;
        await run.episodes.append({ step, phase: 'train' }, episodes as readonly EpisodeRecord[]);
        const index = await run.openIndex();
        const rows = await index.rowsOf(step);
        expect(rows.map(({ episode_id: id }) => id)).toEqual(episodes.map(({ episode_id: id }) => id));
        const heads = await index.readHeads(step, rows);
        for (const [at, each] of rows.entries()) {
          const { samples: _samples, turns, ...head } = episodes[at] ?? expect.fail();
          const known: unknown = JSON.parse(JSON.stringify({ step, phase: 'train', ...head }));
          expect([await index.readHead(each), heads[at]]).toEqual([known, known]);
          expect(each.agents).toEqual([...new Set(turns?.map(({ agent_name: agent }) => agent))]);
        }
      }),
      { numRuns: 60 },
    );
  });
});
