import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { openRunFolder } from '@agentjet/run-folder';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  addSyntheticStep,
  evaluateSynthetic,
  openSyntheticRun,
  writeSyntheticRun,
  type SyntheticRun,
} from '../testing/write-synthetic-run.js';
import { listRows } from './list-rows.js';
import type { StudioRun } from './studio-run.js';
import { StudioRuns } from './studio-runs.js';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'studio-runs-'));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const shape = (name: string, seed: number): SyntheticRun => ({
  experimentDir: dir,
  name,
  seed,
  steps: 4,
  groups: 3,
  repeats: 4,
});

async function onlyRun(): Promise<StudioRun> {
  const runs = new StudioRuns(dir);
  const [first] = (await runs.list()).runs;
  const run = await runs.find(first?.id ?? '');
  if (run === undefined) throw new Error('There is no run.');
  return run;
}

describe('the list of runs', () => {
  it('has each run below the folder with its state and its figures', async () => {
    await writeSyntheticRun(shape('done', 1));
    const open = await openSyntheticRun(shape('going', 2));
    await open.log('started', { total_steps: 4 });
    await addSyntheticStep(open, shape('going', 2), 1);
    const { runs } = await new StudioRuns(dir).list();
    const byName = Object.fromEntries(runs.map((run) => [run.experiment, run]));
    expect(byName['done']).toMatchObject({
      state: 'finished',
      step: 4,
      totalSteps: 4,
      model: 'nano',
      backbone: 'onnx',
    });
    expect(byName['done']?.before?.step).toBe(0);
    expect(byName['done']?.after?.step).toBe(4);
    expect(byName['going']).toMatchObject({ state: 'running', step: 1, before: null });
    await open.log('failed', { error: 'no memory' });
    await open.close();
    const later = (await new StudioRuns(dir).list()).runs.find(({ experiment }) => experiment === 'going');
    expect(later).toMatchObject({ state: 'failed', problem: 'no memory' });
  });

  it('does not leave its folder through a link, and gives ids in place of paths', async () => {
    const other = await mkdtemp(path.join(tmpdir(), 'studio-other-'));
    try {
      await writeSyntheticRun({ ...shape('hidden', 1), experimentDir: other });
      await writeSyntheticRun(shape('shown', 1));
      await symlink(other, path.join(dir, 'link'));
      const runs = new StudioRuns(dir);
      const list = await runs.list();
      expect(list.runs.map(({ experiment }) => experiment)).toEqual(['shown']);
      expect(list.runs[0]?.id).toMatch(/^[\w-]{12}$/);
      for (const id of ['../hidden', list.runs[0]?.path ?? '', '/', '']) expect(await runs.find(id)).toBeUndefined();
    } finally {
      await rm(other, { recursive: true, force: true });
    }
  });

  it('says why a run cannot be read, and still shows the others', async () => {
    const broken = await writeSyntheticRun(shape('older', 1));
    await writeSyntheticRun(shape('fine', 1));
    await rm(path.join(broken.dir, 'rules.json'));
    const runs = new StudioRuns(dir);
    const { id = '' } = (await runs.list()).runs.find(({ experiment }) => experiment === 'older') ?? {};
    const run = await runs.find(id);
    await expect(run?.episodes('')).rejects.toThrow(/older/);
    expect((await run?.metrics(''))?.steps).toHaveLength(4);
  });
});

describe('the figures of a run', () => {
  it.each(Array.from({ length: 100 }, (_none, seed) => seed))('equal those in its files (run %i)', async (seed) => {
    const options = {
      ...shape('run', seed),
      steps: 1 + (seed % 3),
      groups: 1 + (seed % 2),
      repeats: 2 + (seed % 3),
      tasks: seed % 4,
    };
    const folder = await writeSyntheticRun(options);
    const run = await onlyRun();
    const files = await openRunFolder(folder.dir);
    const steps = await files.episodes.steps();
    const records = (await Promise.all(steps.map((step) => files.episodes.readStep(step)))).flat();
    const columns = await run.episodes('');
    expect(columns.id).toEqual(records.map((record) => record.episode_id));
    expect(columns.reward).toEqual(records.map(({ reward }) => reward ?? null));
    expect(columns.success).toEqual(records.map((record) => (record['is_success'] === true ? 1 : 0)));
    expect(columns.tokens).toEqual(records.map((record) => record['generated_tokens']));
    const { steps: lines, evaluations } = await run.metrics('');
    expect(lines).toEqual(await files.readMetrics());
    expect(evaluations).toEqual(await files.readEvaluations());
    const overview = await run.overview();
    const last = (await files.readEvaluations()).at(-1);
    if (last !== undefined)
      expect(overview.evaluations.at(-1)).toMatchObject({ rate: last['success_rate'], low: last['success_low'] });
    const [record] = records;
    if (record === undefined) return;
    const view = await run.episode(record.episode_id);
    expect(view?.outcome.question).toBe(record['main_query']);
    expect(view?.branches.flatMap(({ runs: parts }) => parts.flatMap(({ ids }) => ids))).toEqual(
      record.samples[0]?.ids,
    );
  });
});

describe('a run that is being written', () => {
  const options = (): SyntheticRun => shape('live', 5);

  it('gives only what was added since the cursor', async () => {
    const folder = await openSyntheticRun(options());
    await addSyntheticStep(folder, options(), 1);
    const run = await onlyRun();
    const [metrics, episodes] = [await run.metrics(''), await run.episodes('')];
    expect([metrics.steps.length, episodes.length]).toEqual([1, 12]);
    await addSyntheticStep(folder, options(), 2);
    const [more, later] = [await run.metrics(metrics.cursor), await run.episodes(episodes.cursor)];
    expect([more.isReset, more.steps.map(({ step }) => step)]).toEqual([false, [2]]);
    expect([later.isReset, later.length, new Set(later.step)]).toEqual([false, 12, new Set([2])]);
    expect((await run.episodes(later.cursor)).length).toBe(0);
    await folder.close();
  });

  it('is read anew after a rewind, even if it has grown again in between', async () => {
    const folder = await openSyntheticRun(options());
    for (const step of [1, 2, 3]) await addSyntheticStep(folder, options(), step);
    const run = await onlyRun();
    const [metrics, episodes] = [await run.metrics(''), await run.episodes('')];
    await folder.rewind({ step: 1, policyVersion: 1, groupsDrawn: 1 });
    const other = { ...options(), seed: 99 };
    for (const step of [2, 3, 4]) await addSyntheticStep(folder, other, step);
    const [again, rows] = [await run.metrics(metrics.cursor), await run.episodes(episodes.cursor)];
    expect([again.isReset, again.steps]).toEqual([true, await folder.readMetrics()]);
    const records = (await Promise.all([1, 2, 3, 4].map((step) => folder.episodes.readStep(step)))).flat();
    expect([rows.isReset, rows.reward]).toEqual([true, records.map(({ reward }) => reward ?? null)]);
    await folder.close();
  });

  it('leaves out a line that a killed writer did not finish', async () => {
    const folder = await writeSyntheticRun(options());
    const file = path.join(folder.episodes.dir, 'step-000004.jsonl');
    const text = await readFile(file, 'utf8');
    await writeFile(file, text.slice(0, -40));
    await rm(path.join(folder.dir, 'index'), { recursive: true, force: true });
    const run = await onlyRun();
    const all = await run.episodes('');
    expect(all.step.filter((step) => step === 4)).toHaveLength(text.split('\n').length - 2);
  });

  it('has no rows and no error after it was deleted', async () => {
    const folder = await writeSyntheticRun(options());
    const run = await onlyRun();
    const { cursor } = await run.episodes('');
    await rm(folder.dir, { recursive: true });
    expect(await run.episodes(cursor)).toMatchObject({ isReset: true, length: 0 });
    expect((await run.metrics('')).steps).toEqual([]);
    expect((await new StudioRuns(dir).list()).runs).toEqual([]);
  });
});

describe('what is asked of a run', () => {
  it('is a search in the errors of tools, which the table of episodes shows too', async () => {
    const folder = await writeSyntheticRun(shape('asked', 2));
    const file = path.join(folder.dir, 'episodes', 'step-000002.jsonl');
    const text = await readFile(file, 'utf8');
    await writeFile(file, text.replace('"calls":{', '"calls":{"firstToolError":"HTTP 503: upstream is away",'));
    await rm(path.join(folder.dir, 'index'), { recursive: true, force: true });
    const run = await onlyRun();
    const { refs } = await run.search('UPSTREAM is', undefined);
    expect(refs).toEqual(['2.0']);
    expect((await run.search('upstream is', 1)).refs).toEqual([]);
    expect(await listRows(run, { find: 'upstream is' })).toMatchObject({
      found: 1,
      rows: [{ step: 2, first_tool_error: 'HTTP 503: upstream is away' }],
    });
  });

  it('is the outcome of rows, a search in texts, a group as one tree, and a task in each evaluation', async () => {
    const folder = await writeSyntheticRun(shape('asked', 3));
    await evaluateSynthetic(folder, shape('asked', 3), 2);
    const run = await onlyRun();
    const { id, step, offset, group, at } = await run
      .episodes('')
      .then((chunk) => ({ ...chunk, group: chunk.group.names, at: chunk.group.at }));
    const row = step.indexOf(1);
    const ref = `${step[row]}.${offset[row]}`;
    const outcomes = await run.outcomes([ref, '9.9', 'x']);
    expect(Object.keys(outcomes)).toEqual([ref]);
    expect(outcomes[ref]?.question).toMatch(/^What is/);
    expect((await run.search(outcomes[ref]?.question ?? '', undefined)).refs).toContain(ref);
    expect((await run.search('no such words', undefined)).refs).toEqual([]);
    const view = await run.group(group[at[row] ?? 0] ?? '', 1);
    expect(view?.episodes).toHaveLength(4);
    expect(view?.branches[0]).toMatchObject({ depth: 0, start: 0, episodes: [0, 1, 2, 3] });
    expect(view?.rowTokens).toBeGreaterThan(view?.treeTokens ?? 0);
    expect(await run.group('none', 1)).toBeUndefined();
    expect((await run.task('v1'))?.episodes.map((episode) => episode.step)).toEqual([0, 2, 4]);
    expect(await run.episode(id[row] ?? '')).toMatchObject({ step: 1, status: expect.any(String) });
    expect(await run.episode('none')).toBeUndefined();
    const { tasks, kinds } = await run.overview();
    expect(tasks).toHaveLength(10);
    expect(kinds.map(({ kind }) => kind)).toEqual(['difference', 'sum']);
  });
});
