import { existsSync } from 'node:fs';
import path from 'node:path';
import type { ConfigYaml } from './schema.js';

/** Makes one path absolute: beside the file that names it if it exists there, else in the working directory. */
function resolvePath(value: string, folders: readonly string[]): string {
  const candidates = folders.map((folder) => path.resolve(folder, value));
  return candidates.find((candidate) => existsSync(candidate)) ?? candidates[0] ?? path.resolve(value);
}

function resolveModule(value: string, folders: readonly string[]): string {
  const [file = value, ...names] = value.split('->');
  return [resolvePath(file.trim(), folders), ...names.map((name) => name.trim())].join('->');
}

/** `nano` is no folder but the bundled model; a name such as Qwen/Qwen2.5-0.5B that is no folder stays as it is, for messages. */
function resolveModel(value: string, folders: readonly string[]): string {
  if (value === 'nano') return value;
  const resolved = resolvePath(value, folders);
  const looksLikePath = /^[./~]/.test(value) || path.isAbsolute(value);
  return looksLikePath || existsSync(resolved) ? resolved : value;
}

/** Makes every path of the configuration absolute. `folders`: where to look, the first one wins; outputs go below `cwd`. */
export function resolvePaths(config: ConfigYaml, folders: readonly string[], cwd: string): ConfigYaml {
  const file = (value: string | null): string | null => (value === null ? null : resolvePath(value, folders));
  const module = (value: string | null): string | null => (value === null ? null : resolveModule(value, folders));
  const { task_reader: reader, task_judge: judge, rollout, model } = config;
  return {
    ...config,
    experiment_dir: path.resolve(cwd, config.experiment_dir),
    model: { ...model, path: resolveModel(model.path, folders) },
    rollout: { ...rollout, user_workflow: module(rollout.user_workflow) },
    task_reader: {
      ...reader,
      reader_protocol: module(reader.reader_protocol),
      jsonl_dataset_file: {
        training: { file_path: file(reader.jsonl_dataset_file.training.file_path) },
        validation: { file_path: file(reader.jsonl_dataset_file.validation.file_path) },
      },
    },
    task_judge: { ...judge, judge_protocol: module(judge.judge_protocol) },
  };
}
