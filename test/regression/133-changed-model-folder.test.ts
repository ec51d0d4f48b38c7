import { appendFileSync, cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { nanoModelDir } from '@agentjet/nano';
import { createRunFolder, openRunFolder, type RunFolder } from '@agentjet/run-folder';
import { expect, it } from 'vitest';
import { writeJob } from '../e2e/support/job-files.js';
import { onlyRun, readRows } from '../e2e/support/read-run.js';
import { runAjet } from '../e2e/support/run-ajet.js';
import { writeTinyModel } from '../e2e/support/tiny-model.js';

/** A run continued without a warning although its tokenizer or weights differed from those that it had begun with. */

async function createRun(): Promise<{ readonly run: RunFolder; readonly modelDir: string }> {
  const experimentDir = mkdtempSync(path.join(tmpdir(), 'model-'));
  const modelDir = path.join(experimentDir, 'model');
  cpSync(nanoModelDir, modelDir, { recursive: true });
  const { dir } = await createRunFolder({ experimentDir, experimentName: 'e', configYaml: 'ajet: {}\n' });
  const run = await openRunFolder(dir);
  return { run, modelDir };
}

it('the model folder of a run has not changed if no byte has', async () => {
  const { run, modelDir } = await createRun();
  expect(await run.findModelChanges(modelDir)).toEqual([]); // nothing is written down yet
  await run.recordModel(modelDir);
  expect(await run.findModelChanges(modelDir)).toEqual([]);
  expect(await run.findChanges(modelDir)).toEqual([]);
});

it('an edited, a missing and a new file of the model folder are found', async () => {
  const { run, modelDir } = await createRun();
  await run.recordModel(modelDir);
  appendFileSync(path.join(modelDir, 'model.safetensors'), ' ');
  appendFileSync(path.join(modelDir, 'chat_template.jinja'), ' ');
  rmSync(path.join(modelDir, 'tokenizer.json'));
  const sum = expect.stringMatching(/^[\da-f]{12}$/);
  const changes = await run.findModelChanges(modelDir);
  expect(changes.find(({ file }) => file === 'model.safetensors')).toEqual({
    file: 'model.safetensors',
    before: sum,
    after: sum,
  });
  expect(changes.find(({ file }) => file === 'tokenizer.json')).toEqual({
    file: 'tokenizer.json',
    before: sum,
    after: null,
  });
  expect(changes.map(({ file }) => file)).toContain('chat_template.jinja');
  expect((await run.findChanges(modelDir)).join('\n')).toMatch(/tokenizer\.json has changed since the run began/);
});

it('sums of the model folder that were changed are not taken for sums', async () => {
  const { run, modelDir } = await createRun();
  for (const text of ['', '[]', '{"config.json": {"bytes": 3}, "tokenizer.json": 5}']) {
    writeFileSync(path.join(run.dir, 'model.json'), text);
    expect(await run.findModelChanges(modelDir)).toEqual([]);
  }
});

it('a model folder that is on another machine has not changed', async () => {
  const { run, modelDir } = await createRun();
  await run.recordModel(modelDir);
  rmSync(modelDir, { recursive: true });
  expect(await run.findChanges(modelDir)).toEqual([]);
});

it('--resume says which files of model.path have changed, and from which step on', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'model-resume-'));
  await writeTinyModel(path.join(folder, 'model'));
  const changes = { trainer_common: { save_freq: 1, total_training_steps: 1 } };
  writeJob(folder, 'model', {}, changes);
  expect((await runAjet(folder, ['--conf', 'job.yaml'])).code).toBe(0);
  appendFileSync(path.join(folder, 'model', 'tokenizer.json'), '\n');
  const more = [...'--conf job.yaml --resume'.split(' '), 'trainer_common.total_training_steps=2'];
  const resumed = await runAjet(folder, more);
  expect(resumed.stderr).toBe('');
  expect(resumed.stdout).toMatch(/From step 2 on: tokenizer\.json of model\.path was "[\da-f]{12}", now "[\da-f]{12}"/);
  const run = onlyRun(folder);
  expect(readRows(path.join(run, 'changes.jsonl'))).toMatchObject([
    { first_step: 2, key: 'trainer_common.total_training_steps', before: 1, after: 2 },
    { first_step: 2, key: 'tokenizer.json of model.path' },
  ]);
  expect(Object.keys(JSON.parse(readFileSync(path.join(run, 'model.json'), 'utf8')) as object)).toContain(
    'tokenizer.json',
  );
  const again = await runAjet(folder, more);
  expect(again.stdout).not.toContain('of model.path was');
});
