import { ConfigError, type AgentJetConfig, type Task } from '@agentjet/core';
import { createTaskReader, importUserModule, readJsonlTasks, withUserFrames, type TaskReader } from '@agentjet/rollout';
import { createRandomTaskReader } from './random-tasks.js';

/** Reads the file when the pass begins. */
async function* readFile(file: string | null): AsyncGenerator<Task> {
  if (file !== null) yield* await readJsonlTasks(file);
}

function openFiles({ training, validation }: AgentJetConfig['taskReader']['jsonlDatasetFile']): TaskReader {
  if (training.filePath === null && validation.filePath === null) {
    throw new ConfigError(
      'no_tasks',
      'There are no tasks. Set task_reader.jsonl_dataset_file.training.file_path, or call setData() on the job.',
    );
  }
  return { trainingTasks: () => readFile(training.filePath), evaluationTasks: () => readFile(validation.filePath) };
}

function isTaskReader(value: unknown): value is TaskReader {
  const has = (name: string): boolean =>
    typeof value === 'object' && value !== null && typeof Reflect.get(value, name) === 'function';
  return has('trainingTasks') && has('evaluationTasks');
}

/** A class gives an instance; a plain function with `yield` in it is the training tasks. */
function fromFunction(reader: Function, reference: string): unknown {
  if (/^(Async)?GeneratorFunction$/.test(reader.constructor.name))
    return createTaskReader({ training: () => reader() });
  try {
    return Reflect.construct(reader, []);
  } catch (error) {
    throw new ConfigError('bad_reader', withUserFrames(`${reference} threw while it was constructed`, error), {
      cause: error,
    });
  }
}

async function openProtocol(reference: string | null): Promise<TaskReader> {
  if (reference === null) {
    throw new ConfigError(
      'no_tasks',
      'task_reader.type is customized_protocol, but task_reader.reader_protocol is empty. Name a reader: path/file.ts->Export.',
    );
  }
  const exported = await importUserModule(reference, process.cwd(), 'task_reader.reader_protocol');
  const made: unknown = typeof exported === 'function' ? fromFunction(exported, reference) : exported;
  if (isTaskReader(made)) return made;
  throw new ConfigError(
    'bad_reader',
    `${reference} is not a task reader: it needs the methods trainingTasks() and evaluationTasks(), each an async generator of tasks; or it is one itself, of training tasks alone.`,
  );
}

/** The reader that the configuration names. */
export async function openTaskReader(config: AgentJetConfig): Promise<TaskReader> {
  const { type, jsonlDatasetFile, readerProtocol, randomDummy } = config.taskReader;
  switch (type) {
    case 'jsonl_dataset_file':
      return openFiles(jsonlDatasetFile);
    case 'customized_protocol':
      return openProtocol(readerProtocol);
    case 'random_dummy':
      return createRandomTaskReader({
        numTraining: randomDummy.training.numTasks,
        numValidation: randomDummy.validation.numTasks,
        seed: config.trainerCommon.seed,
      });
  }
}
