import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createContextTracker, toTurnRecord } from '@agentjet/context-tracker';
import { nanoModelDir } from '@agentjet/nano';
import { createRunFolder, toSampleRecord, type EpisodeRecord, type RunFolder } from '@agentjet/run-folder';
import { loadChatTokenizer } from '@agentjet/tokenizer';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { formatComparison } from '../terminal/format-comparison.js';
import { formatOutcome } from '../terminal/format-outcomes.js';
import { plainPalette } from '../terminal/palette.js';
import { compareEvaluations } from './compare-evaluations.js';
import { OutcomeReader } from './read-outcomes.js';
import { selectEpisodes, type EpisodeSelection } from './select-episodes.js';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'outcomes-'));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const newRun = (trainer = ''): Promise<RunFolder> =>
  createRunFolder({
    experimentDir: dir,
    experimentName: 'e',
    configYaml: `ajet:\n  model:\n    path: nano\n  trainer_common:\n    report_by: level\n${trainer}`,
  });

type Given = {
  readonly task: string;
  readonly isSuccess?: boolean;
  readonly level?: string;
  readonly answer?: string;
  readonly place?: number;
  readonly error?: object;
  readonly seconds?: number;
  readonly tokens?: number;
};

const episode = (id: string, given: Given): EpisodeRecord => ({
  episode_id: id,
  task_id: given.task,
  main_query: `What is ${given.task}?`,
  task_metadata: { answer: 42, ...(given.level !== undefined && { level: given.level }) },
  repeat_index: given.place ?? 0,
  ...(given.error === undefined
    ? { status: 'completed', reward: given.isSuccess === true ? 1 : 0, is_success: given.isSuccess ?? false }
    : { status: 'failed', error: given.error }),
  ...(given.answer !== undefined && { answer: given.answer }),
  reason: `It is ${given.isSuccess === true ? '' : 'not '}42.`,
  seconds: given.seconds ?? 1,
  generated_tokens: given.tokens ?? 3,
  calls: { answered: 1 },
  metadata: {},
  turns: [],
  samples: [],
});

async function select(run: RunFolder, selection: EpisodeSelection): Promise<readonly string[]> {
  const { index } = await OutcomeReader.open(run.dir);
  return (await selectEpisodes(index, run.dir, selection)).rows.map(({ episode_id: id }) => id);
}

describe('episodes of a run', () => {
  let run: RunFolder;
  beforeEach(async () => {
    run = await newRun();
    await run.recordStep({ step: 1 }, [
      episode('e1', { task: 'six x seven', isSuccess: true, level: 'easy', seconds: 2, tokens: 9 }),
      episode('e2', { task: 'six x nine', level: 'hard', seconds: 3, tokens: 5 }),
      episode('e3', { task: 'six x nine', error: { code: 'timeout', message: 'too slow' }, seconds: 9 }),
    ]);
    await run.recordEvaluation({ step: 2 }, [episode('e4', { task: 'six x nine', level: 'hard', tokens: 7 })]);
  });

  it('are selected by success, task, step, kind and phase, and sorted', async () => {
    expect(await select(run, { failed: true })).toEqual(['e2', 'e3', 'e4']);
    expect(await select(run, { task: 'six x seven' })).toEqual(['e1']);
    expect(await select(run, { step: 2 })).toEqual(['e4']);
    expect(await select(run, { kind: 'hard', phase: 'train' })).toEqual(['e2']);
    expect(await select(run, { sort: 'reward' })).toEqual(['e3', 'e2', 'e4', 'e1']);
    expect(await select(run, { sort: 'seconds' })).toEqual(['e3', 'e2', 'e1', 'e4']);
    expect(await select(run, { sort: 'tokens' })).toEqual(['e1', 'e4', 'e2', 'e3']);
  });

  it('of a name that the run does not have are refused, with the names that it has', async () => {
    await expect(select(run, { task: 'nine' })).rejects.toThrow(/has no task "nine"\. Similar names: 'six x nine'\.$/);
    await expect(select(run, { task: 'zzz' })).rejects.toThrow(/has no task "zzz"\. It has 2 tasks: .*six x seven/);
    await expect(select(run, { step: 7 })).rejects.toThrow(/has no episodes of step 7\. It has those of steps 1-2\.$/);
    await expect(select(run, { kind: 'medium' })).rejects.toThrow(
      /has no kind "medium"\. It has 2 kinds: easy, hard\./,
    );
    await expect(select(run, { step: 1, task: 'x' })).rejects.toThrow(/^Step 1 of .* has no task "x"\./);
  });

  it('have no kinds if their tasks have none', async () => {
    const other = await newRun();
    await expect(select(other, {})).rejects.toThrow(/has no episodes, because no step was finished\.$/);
    await other.recordStep({ step: 1 }, [episode('e1', { task: 'a' })]);
    await expect(select(other, { kind: 'hard' })).rejects.toThrow(
      /has no kinds of tasks: the metadata of its tasks has no "level", which trainer_common\.report_by names\.$/,
    );
  });

  it('are those of the files, for any selection', async () => {
    const name = fc.constantFrom('a', 'b', 'c');
    const given = fc.record(
      { task: name, isSuccess: fc.boolean(), level: name, seconds: fc.nat(9), tokens: fc.nat(9) },
      { requiredKeys: ['task'] },
    );
    let step = 2;
    const property = fc.asyncProperty(
      fc.array(given, { minLength: 1, maxLength: 8 }),
      fc.record({ failed: fc.boolean(), sort: fc.constantFrom('seconds' as const, 'tokens' as const) }),
      async (episodes, asked) => {
        step++;
        const records = episodes.map((each, at) => episode(`s${step}-${at}`, each));
        await run.recordStep({ step }, records);
        const task = episodes[0]?.task ?? '';
        const wanted = records
          .filter((each) => each['task_id'] === task && !(asked.failed && each['is_success'] === true))
          .map((each) => ({ id: each.episode_id, key: each[asked.sort === 'tokens' ? 'generated_tokens' : 'seconds'] }))
          .toSorted((one, other) => Number(other.key) - Number(one.key));
        expect(await select(run, { ...asked, task, step })).toEqual(wanted.map(({ id }) => id));
      },
    );
    await fc.assert(property, { numRuns: 30 });
  });
});

describe('the outcome of an episode', () => {
  const linesOf = async (run: RunFolder, width: number): Promise<readonly string[]> => {
    const reader = await OutcomeReader.open(run.dir);
    const [row] = await reader.index.rowsOf(1);
    return formatOutcome(await reader.read(row ?? expect.fail()), { palette: plainPalette, width });
  };

  it('is shown with question, expected and given answer, and reason, wrapped to the terminal', async () => {
    const run = await newRun();
    const answer = 'Six times nine is\nfifty-four, and nothing else.';
    await run.recordStep({ step: 1 }, [episode('e1', { task: 'six x nine', level: 'hard', answer })]);
    expect(await linesOf(run, 36)).toEqual([
      'e1  step 1  reward 0.000  no success  1.0 s  3 tokens  kind hard',
      '  question  What is six x nine?',
      '  expected  42',
      '  answered  Six times nine is',
      '            fifty-four, and nothing',
      '            else.',
      '  reason    It is not 42.',
    ]);
  });

  it('says why the episode failed', async () => {
    const run = await newRun();
    const error = { code: 'timeout', message: 'It took too long.' };
    await run.recordStep({ step: 1 }, [episode('e1', { task: 'a', error, answer: '\u001b[2J' })]);
    expect(await linesOf(run, 80)).toEqual([
      'e1  step 1  failed (timeout)  1.0 s  3 tokens',
      '  question  What is a?',
      '  expected  42',
      '  answered  ␛[2J',
      '  reason    It is not 42.',
      '  error     It took too long.',
    ]);
  });

  it('has the answer from the tokens, if the record is of a version that did not keep it', async () => {
    const chatTokenizer = await loadChatTokenizer(nanoModelDir);
    const tracker = createContextTracker({ episodeId: 'e1', chatTokenizer });
    for (const said of ['first', 'the last']) {
      const request = { messages: [{ role: 'user' as const, content: said }] };
      const turn = tracker.begin({ agentName: 'a', targetTag: 'a' }, request);
      const ids = chatTokenizer.tokenizer.encode(`${said}<|im_end|>`);
      turn.commit({ ids, logprobs: new Float32Array(ids.length), finishReason: 'stop', policyVersion: 0 });
    }
    const run = await newRun();
    const turns = tracker.describe().map(toTurnRecord);
    const samples = tracker.finish().map(toSampleRecord);
    await run.recordStep({ step: 1 }, [{ ...episode('e1', { task: 'a' }), turns, samples }]);
    expect(await linesOf(run, 80)).toContain('  answered  the last');
  });
});

describe('the first and the last evaluation of a run', () => {
  const evaluated = (step: number, tasks: Readonly<Record<string, boolean | object>>): readonly EpisodeRecord[] =>
    Object.entries(tasks).map(([task, outcome]) =>
      episode(`eval-${step}-${task}`, {
        task,
        answer: `${task} at ${step}`,
        ...(typeof outcome === 'boolean' ? { isSuccess: outcome } : { error: outcome }),
      }),
    );
  const outage = { code: 'outage', message: 'away', outage: { source: 'model', host: 'h' } };

  it('are compared by task: what was gained and lost', async () => {
    const run = await newRun();
    await run.recordEvaluation({ step: 0 }, evaluated(0, { a: false, b: true, c: true, d: false, lost: outage }));
    await run.recordEvaluation({ step: 5 }, evaluated(5, { a: false, b: false, c: false, d: false }));
    await run.recordEvaluation({ step: 9 }, evaluated(9, { a: true, b: false, c: true, d: false, lost: true }));
    const reader = await OutcomeReader.open(run.dir);
    const found = await compareEvaluations(reader, run.dir);
    expect(found).toMatchObject({ firstStep: 0, lastStep: 9, leftOut: 1, difference: { difference: 0 } });
    expect(found.tasks.map(({ taskId, change }) => `${taskId} ${change}`)).toEqual([
      'a gained',
      'b lost',
      'c solved',
      'd not_solved',
    ]);
    const lines: string[] = [];
    for await (const line of formatComparison(found, reader, { palette: plainPalette, width: 80 })) lines.push(line);
    expect(lines.slice(0, 5)).toEqual([
      'step 0: success 0.500 (95% 0.150-0.850)',
      'step 9: success 0.500 (95% 0.150-0.850)',
      expect.stringMatching(
        /^change: \+0\.000 \(95% .*within noise\), on 4 tasks: 1 gained, 1 lost, 1 not solved, 1 solved in both$/,
      ),
      '1 task is left out, because only one of the evaluations has scored it.',
      '',
    ]);
    expect(lines.slice(5, 11)).toEqual([
      'gained: solved more often than before (1)',
      'a  0/1 -> 1/1',
      '  question  What is a?',
      '  expected  42',
      '  before    a at 0',
      '  after     a at 9',
    ]);
  });

  it('count only the places that are sampled as evaluations are', async () => {
    const run = await newRun('    val_pass_n: 2\n');
    for (const step of [0, 3])
      await run.recordEvaluation(
        { step },
        [0, 1, 2].map((place) =>
          episode(`${step}-${place}`, { task: 'a', place, isSuccess: place === 2 || (step === 3 && place === 1) }),
        ),
      );
    const { tasks } = await compareEvaluations(await OutcomeReader.open(run.dir), run.dir);
    expect(tasks).toMatchObject([
      { change: 'gained', before: { successes: 0, trials: 2 }, after: { successes: 1, trials: 2 } },
    ]);
  });

  it('are needed for a comparison', async () => {
    const run = await newRun();
    const compare = async () => compareEvaluations(await OutcomeReader.open(run.dir), run.dir);
    await expect(compare()).rejects.toThrow(/has no evaluation, and two are compared\. Let a run evaluate/);
    await run.recordEvaluation({ step: 4 }, evaluated(4, { a: true }));
    await expect(compare()).rejects.toThrow(/has only the evaluation of step 4, and two are compared\./);
  });
});
