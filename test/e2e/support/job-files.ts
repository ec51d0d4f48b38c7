import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { stringify } from 'yaml';

export type JobFiles = Readonly<Record<string, string>>;

function writeFiles(folder: string, files: JobFiles): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    writeFileSync(path.join(folder, name), text);
  }
}

export const toJsonLines = (tasks: readonly unknown[]): string =>
  tasks.map((task) => `${JSON.stringify(task)}\n`).join('');

/** No task is in two sets if their first numbers are far enough apart. */
const makeTasks = (name: string, count: number, first = 0): readonly unknown[] =>
  Array.from({ length: count }, (_, index) => ({ task_id: `${name}${index}`, main_query: `Say ${first + index}` }));

/**
 * Rewards the share of letters in the model's answer. With random weights the rewards differ, so there is something to
 * learn. The file has no imports, because it is outside of the repository.
 */
const workflow = `
type Model = { generate(request: unknown, options?: unknown): Promise<{ message: { content: string } }> };
type Tuner = { selectModel<M>(options: { agentName: string }, toNative: (model: Model) => M): M };
type Task = { taskId: string; mainQuery: string };

export async function sayLetters(task: Task, tuner: Tuner) {
  const model = tuner.selectModel({ agentName: 'speaker' }, (tuned) => tuned);
  const { message } = await model.generate({ messages: [{ role: 'user', content: task.mainQuery }] });
  const letters = message.content.match(/[a-z]/gi)?.length ?? 0;
  return { reward: letters / 8, isSuccess: letters > 2, logMetrics: { letters } };
}
`;

export type JobYaml = { readonly [section: string]: unknown };

/** The model is so small that a step takes well under a second. */
export function createJobYaml(modelDir: string, changes: JobYaml = {}): string {
  const ajet = {
    experiment_name: 'e2e',
    model: { path: modelDir },
    data: { train_batch_size: 2, max_prompt_length: 128, max_response_length: 128 },
    rollout: {
      user_workflow: 'agent.ts->sayLetters',
      num_repeat: 4,
      max_model_len: 256,
      max_response_length_in_one_turn: 8,
    },
    task_reader: {
      jsonl_dataset_file: { training: { file_path: 'train.jsonl' }, validation: { file_path: 'test.jsonl' } },
    },
    trainer_common: { save_freq: 2, total_training_steps: 4 },
    onnx: { num_threads: 1 },
  };
  const merged = Object.fromEntries(
    [...new Set([...Object.keys(ajet), ...Object.keys(changes)])].map((name) => {
      const [base, over] = [Reflect.get(ajet, name) as unknown, changes[name]];
      return [name, typeof base === 'object' && typeof over === 'object' ? { ...base, ...over } : (over ?? base)];
    }),
  );
  return stringify({ ajet: merged });
}

/** Writes a working job into `folder`: job.yaml, agent.ts, train.jsonl and test.jsonl. */
export function writeJob(folder: string, modelDir: string, files: JobFiles = {}, changes: JobYaml = {}): string {
  writeFiles(folder, {
    'job.yaml': createJobYaml(modelDir, changes),
    'agent.ts': workflow,
    'train.jsonl': toJsonLines(makeTasks('train', 6)),
    'test.jsonl': toJsonLines(makeTasks('test', 2, 100)),
    ...files,
  });
  return folder;
}
