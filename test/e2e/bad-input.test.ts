import { cpSync, existsSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { createJobYaml, toJsonLines, type JobFiles, type JobYaml } from './support/job-files.js';
import { createJobFolder, createScratchFolder } from './support/job-folder.js';
import { runAjet } from './support/run-ajet.js';
import { writeTinyModel } from './support/tiny-model.js';

let modelDir: string;
beforeAll(async () => {
  modelDir = await writeTinyModel(path.join(createScratchFolder(), 'model'));
});

type Case = {
  readonly files?: JobFiles;
  readonly changes?: JobYaml;
  readonly args?: readonly string[];
  /** Damages a copy of the model folder. */
  readonly spoil?: (dir: string) => void;
  readonly says: readonly RegExp[];
};

const cases: Readonly<Record<string, Case>> = {
  'a YAML file that is missing': {
    args: ['--conf', 'nowhere.yaml'],
    says: [/There is no configuration file .*nowhere\.yaml/, /--conf/],
  },
  'YAML that does not parse': {
    files: { 'job.yaml': 'ajet:\n  rollout: [1,\n' },
    says: [/job\.yaml:\d+:\d+ is not valid YAML/],
  },
  'an unknown key': {
    changes: { rollouts: { num_repeat: 2 } },
    says: [/Unknown key "rollouts" in job\.yaml:\d+\. Did you mean "rollout"\?/],
  },
  'a wrong type': {
    args: ['--conf', 'job.yaml', 'rollout.num_repeat=many'],
    says: [/"rollout\.num_repeat" in the override .* is "many", but must be a number/],
  },
  'a workflow path that does not exist': {
    args: ['--conf', 'job.yaml', 'rollout.user_workflow=nobody.ts->Agent'],
    says: [/rollout\.user_workflow .*nobody\.ts.*does not exist/],
  },
  'a workflow file that exports nothing': {
    files: { 'agent.ts': 'const x = 1;\n' },
    says: [/agent\.ts exports nothing named "sayLetters"/, /exports nothing at all/],
  },
  'a workflow file that does not compile': {
    files: { 'agent.ts': 'export function sayLetters( {\n' },
    says: [/agent\.ts/],
  },
  'no workflow': {
    args: ['--conf', 'job.yaml', 'rollout.user_workflow=null'],
    says: [/There is no workflow\. Set rollout\.user_workflow/],
  },
  'a JSONL line that does not parse': {
    files: { 'train.jsonl': `${toJsonLines([{ task_id: 'a', main_query: 'x' }])}{"task_id": \n` },
    says: [/train\.jsonl:2: not JSON/],
  },
  'a task file that is missing': {
    args: ['--conf', 'job.yaml', 'task_reader.jsonl_dataset_file.training.file_path=gone.jsonl'],
    says: [/gone\.jsonl does not exist/],
  },
  'two tasks with one id': {
    files: {
      'train.jsonl': toJsonLines([
        { task_id: 'a', main_query: 'x' },
        { task_id: 'a', main_query: 'y' },
      ]),
    },
    says: [/train\.jsonl:2: task_id "a" was used in line 1 already/],
  },
  'a task without an id': {
    files: { 'test.jsonl': toJsonLines([{ main_query: 'x' }]) },
    says: [/test\.jsonl:1: task_id is missing/],
  },
  'a model folder that is missing': {
    changes: { model: { path: './no-model' } },
    says: [/There is no model folder .*no-model/],
  },
  'a model that would have to be downloaded': {
    changes: { model: { path: 'Qwen/Qwen2.5-0.5B' } },
    says: [/Qwen\/Qwen2\.5-0\.5B is not in .*HF_HUB_OFFLINE forbids downloading it/],
  },
  'a model folder without a tokenizer': {
    spoil: (dir) => rmSync(path.join(dir, 'tokenizer.json')),
    says: [/tokenizer\.json/],
  },
  'a tokenizer that is missing, before a worker is started': {
    spoil: (dir) => rmSync(path.join(dir, 'tokenizer.json')),
    args: ['--conf', 'job.yaml', 'backbone=torch', 'torch.python=/no/python'],
    says: [/tokenizer\.json/],
  },
  'a model folder without config.json': {
    spoil: (dir) => rmSync(path.join(dir, 'config.json')),
    says: [/config\.json.*missing/],
  },
  'truncated safetensors': {
    spoil: (dir) => truncateSync(path.join(dir, 'model.safetensors'), 20_000),
    says: [/model\.safetensors/],
  },
  'an unsupported architecture': {
    spoil: (dir) => {
      const file = path.join(dir, 'config.json');
      const config = JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>;
      writeFileSync(file, JSON.stringify({ ...config, architectures: ['MambaForCausalLM'], model_type: 'mamba' }));
    },
    says: [/mamba/i],
  },
  'a run folder that cannot be written': {
    changes: { experiment_dir: 'job.yaml/runs' },
    says: [/Cannot write .*runs/, /experiment_dir/],
  },
  ...(existsSync('/proc/self') && {
    'a run folder where no folder can be made': {
      changes: { experiment_dir: '/proc/runs' },
      says: [/Cannot write \/proc\/runs\/e2e: .*Choose another experiment_dir/],
    },
  }),
  'a task reader that throws': {
    files: {
      'reader.ts':
        'export const reader = { trainingTasks() { throw new Error("no database"); }, async *evaluationTasks() {} };\n',
    },
    args: [
      '--conf',
      'job.yaml',
      'task_reader.type=customized_protocol',
      'task_reader.reader_protocol=reader.ts->reader',
    ],
    says: [/The task reader failed: no database\n +at .*reader\.ts:1:/],
  },
  'a module that ends the process': {
    files: { 'agent.ts': 'process.exit(0);\n' },
    says: [/The process was ended by process\.exit\(0\) before the work was done/],
  },
  'a module that waits for ever': {
    files: { 'agent.ts': 'await new Promise(() => {});\nexport const sayLetters = 1;\n' },
    says: [/awaits a promise that never settles/],
  },
  'a resume without a run': { args: ['--conf', 'job.yaml', '--resume'], says: [/there is no run in .*e2e/] },
  'no trainable target': {
    args: ['--conf', 'job.yaml', 'trainable_targets=[]'],
    says: [/"trainable_targets" .* is \[\], but must be not empty/],
  },
  'a command line without a job': { args: [], says: [/--conf <file\.yaml>/] },
  'a job named without --conf': { args: ['job.yaml'], says: [/Did you mean --conf job\.yaml\?/] },
  'a folder to inspect that is not a run': {
    args: ['inspect', '.'],
    says: [/\. is not a run folder: .* Runs are the folders <experiment_dir>/],
  },
};

function prepare({ files, changes, spoil }: Case): string {
  if (spoil === undefined) return createJobFolder(modelDir, files, changes);
  const folder = createJobFolder('model', files);
  cpSync(modelDir, path.join(folder, 'model'), { recursive: true });
  spoil(path.join(folder, 'model'));
  writeFileSync(path.join(folder, 'job.yaml'), createJobYaml('model'));
  return folder;
}

describe('bad input ends with one message and a non-zero exit code', () => {
  it.concurrent.each(Object.entries(cases))('%s', async (_, badCase) => {
    const { code, stdout, stderr } = await runAjet(prepare(badCase), badCase.args ?? ['--conf', 'job.yaml'], {
      env: { HF_HUB_OFFLINE: '1' },
    });
    expect(code).toBe(1);
    for (const pattern of badCase.says) expect(stderr).toMatch(pattern);
    expect(stderr.match(/^error: /gm)).toHaveLength(1);
    expect(stderr).not.toMatch(/node_modules|dist\/.*\.js:\d+|Warning/);
    expect(stdout).toBe('');
  });
});
