import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createRunFolder } from '@agentjet/run-folder';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { createProgram } from '../program.js';
import { printRescore } from './rescore-run.js';

const folder = mkdtempSync(path.join(tmpdir(), 'rescore-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const judgeBy = (compare: string): string =>
  `ajet:\n  model: { path: nano }\n  task_judge:\n    judge_type: answer\n    answer: { compare: ${compare} }\n`;

const episode = (step: number, place: number, said: string, reward: number) => ({
  episode_id: `e${step}-t${place}-r0`,
  group_id: `e${step}-t${place}`,
  task_id: `t${place}`,
  main_query: 'What is 40 + 2?',
  task_metadata: { answer: '42' },
  seed: 1,
  status: 'completed',
  reward,
  is_success: reward === 1,
  metadata: { answer: said },
  log_metrics: {},
  turns: [],
  samples: [],
});

let run = '';
beforeAll(async () => {
  const made = await createRunFolder({ experimentDir: folder, experimentName: 'sums', configYaml: judgeBy('text') });
  for (const step of [1, 2])
    await made.recordStep({ step } as Parameters<typeof made.recordStep>[0], [
      episode(step, 0, '42', 1),
      episode(step, 1, '42.0', 0),
      episode(step, 2, '41', 0),
    ]);
  run = made.dir;
});

async function rescore(flags: Partial<Parameters<typeof printRescore>[0]> = {}, overrides: readonly string[] = []) {
  const [out, err]: [string[], string[]] = [[], []];
  const onOut = vi.spyOn(process.stdout, 'write').mockImplementation((text) => Boolean(out.push(String(text))));
  const onErr = vi.spyOn(process.stderr, 'write').mockImplementation((text) => Boolean(err.push(String(text))));
  try {
    const code = await printRescore({ run, json: true, ...flags }, overrides);
    return { code, json: JSON.parse(out.at(-1) ?? 'null') as Record<string, unknown>, text: err.join('') };
  } finally {
    onOut.mockRestore();
    onErr.mockRestore();
  }
}

it('scores a run again with its own judge, and finds no change', async () => {
  const { code, json } = await rescore();
  expect(code).toBe(0);
  expect(json).toMatchObject({ episodes: 6, rescored: 6, changed: 0, scored_by_workflow: 6, left_out: [] });
});

it('shows what a change of the judge changes, by episode', async () => {
  const conf = path.join(folder, 'new.yaml');
  writeFileSync(conf, judgeBy('number'));
  const { json, text } = await rescore({ conf, step: '2' });
  expect(json).toMatchObject({
    steps: [2],
    rescored: 3,
    changed: 1,
    before: { success_rate: 1 / 3 },
    after: { success_rate: 2 / 3 },
  });
  expect(json['changes']).toMatchObject([
    { episode_id: 'e2-t1-r0', task_id: 't1', step: 2, before: { reward: 0, is_success: false }, after: { reward: 1 } },
  ]);
  expect(text).toContain('3 of 3 episodes of step 2 scored again, 1 changed');
  expect(text).toContain('mean reward 0.3333 -> 0.6667, success 0.333 -> 0.667');
  expect(text).toContain('e2-t1-r0  step 2  0 -> 1 (success)');
});

it('takes overrides in place of a file', async () => {
  expect((await rescore({}, ['task_judge.answer.compare=number'])).json).toMatchObject({ changed: 2 });
});

it('says what is wrong with the run, the step and the judge', async () => {
  await expect(rescore({ run: folder })).rejects.toThrow(/is not a run folder: it has no config\.yaml/);
  await expect(rescore({ step: 'last' })).rejects.toThrow('--step is "last", not a whole number from 0.');
  await expect(rescore({ step: '7' })).rejects.toThrow(/no episodes of step 7\. Its episodes are of the steps 1 to 2/);
  await expect(rescore({}, ['task_judge.judge_type=customized_protocol'])).rejects.toThrow(/names no judge/);
  await expect(rescore({}, ['task_judge.answer.task_field=gold'])).rejects.toThrow(
    /No episode .* was scored again: no verdict: .*gold/,
  );
});

it.each([
  [['judge'], 'name one of --audit, --examples and --run;'],
  [['judge', '--audit', '--run', 'x'], 'name one of --audit, --examples and --run, not --audit and --run;'],
  [['judge', '--audit'], '--audit needs --conf <file.yaml>'],
  [['judge', '--examples', 'x', '--conf', 'y', '--fail-on', 'paid'], '--fail-on has no effect with --examples.'],
  [['judge', '--run', 'x', '--tasks', '3'], '--tasks has no effect with --run.'],
])('refuses %j', async (args, message) => {
  const written: string[] = [];
  const program = createProgram(() => undefined).exitOverride();
  program.commands.forEach((command) => {
    command.exitOverride().configureOutput({ writeErr: (text) => void written.push(text) });
  });
  await expect(program.parseAsync(args, { from: 'user' })).rejects.toThrow(message);
});
