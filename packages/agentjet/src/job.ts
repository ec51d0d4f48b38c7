import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { ConfigError, createConfig, formatConfig, loadConfig, type AgentJetConfig, type ConfigInput } from '@agentjet/core';
import { createJudge, createTaskReader, parseWorkflowSource, type Judge, type TaskReader, type TaskSource, type WorkflowSource } from '@agentjet/rollout';
import { createLineListener } from './event-lines.js';
import type { Evaluation, JobListener, JobResult } from './events.js';
import { loadInputs, type JobInputs } from './inputs/job-inputs.js';
import { toConfigInput, type JobOptions } from './job-options.js';

/** Where tasks come from: files, lists and generators, a reader, or numbered tasks without text. */
export type JobData =
  | TaskReader
  | { readonly type?: 'jsonl_dataset_file'; readonly training: string; readonly validation?: string }
  | { readonly training: TaskSource; readonly validation?: TaskSource }
  | { readonly type: 'random_dummy'; readonly training?: number; readonly validation?: number };

export type RunOptions = {
  /** Default: a line per event on stderr. */
  readonly onEvent?: JobListener;
  /** Aborting finishes the step, saves a checkpoint and ends with `isInterrupted`. */
  readonly signal?: AbortSignal;
};

export type TuneOptions = RunOptions & {
  /** True: go on from the last checkpoint of the experiment's newest run. A text: of that run folder. */
  readonly resume?: boolean | string;
};

export type EvaluateOptions = RunOptions & {
  /** A run folder (its last checkpoint), a checkpoint, or any model folder. Default: `model.path`. */
  readonly checkpoint?: string;
};

const logToStderr = createLineListener((line) => void process.stderr.write(`${line}\n`));

type Given = { -readonly [Key in keyof JobInputs]?: JobInputs[Key] };

/**
 * What `ajet` does, from code:
 * ```ts
 * const job = new AgentJetJob({ model: 'nano', algorithm: 'grpo' }).setWorkflow(MathAgent).setData({ training: 'train.jsonl' });
 * const { modelDir } = await job.tune();
 * ```
 * Every method throws ConfigError for what is wrong, before anything runs.
 */
export class AgentJetJob {
  #config: AgentJetConfig;
  readonly #given: Given = {};

  constructor(options: JobOptions = {}) {
    this.#config = createConfig(toConfigInput(options));
  }

  /** The configuration as it stands; change it with the options, `setConfig` or a YAML file. */
  get config(): AgentJetConfig {
    return this.#config;
  }

  /** Changes some keys, in camelCase; the others stay. */
  setConfig(input: ConfigInput): this {
    this.#config = createConfig(mergeInput(this.#config, input) as ConfigInput);
    return this;
  }

  /** A Workflow class, a function (task, tuner), or `path/file.ts->Export`. */
  setWorkflow(workflow: WorkflowSource | string): this {
    if (typeof workflow === 'string') {
      delete this.#given.workflow;
      return this.setConfig({ rollout: { userWorkflow: workflow } });
    }
    this.#given.workflow = parseWorkflowSource(workflow, 'What setWorkflow() got');
    return this;
  }

  setData(data: JobData): this {
    delete this.#given.reader;
    if ('trainingTasks' in data) {
      this.#given.reader = data;
    } else if ('type' in data && data.type === 'random_dummy') {
      const { training, validation } = data;
      const counts = { ...(training === undefined ? {} : { training: { numTasks: training } }), ...(validation === undefined ? {} : { validation: { numTasks: validation } }) };
      return this.setConfig({ taskReader: { type: 'random_dummy', randomDummy: counts } });
    } else if (typeof data.training === 'string') {
      const validation = typeof data.validation === 'string' ? data.validation : null;
      return this.setConfig({ taskReader: { type: 'jsonl_dataset_file', jsonlDatasetFile: { training: { filePath: data.training }, validation: { filePath: validation } } } });
    } else {
      this.#given.reader = createReader(data as { training: TaskSource; validation?: TaskSource });
    }
    return this;
  }

  /** A judge, a class of one, a function (task, output), or `path/file.ts->Export`. */
  setJudge(judge: Judge | Judge['judge'] | (new () => Judge) | string): this {
    if (typeof judge === 'string') {
      delete this.#given.judge;
      return this.setConfig({ taskJudge: { judgeProtocol: judge } });
    }
    this.#given.judge = createJudge(judge, 'What setJudge() got');
    return this;
  }

  /** Writes the configuration as a file that `ajet --conf` takes. What only code can give is named in a comment on top. */
  dumpJobAsYaml(file: string): this {
    const names = { workflow: 'setWorkflow()', reader: 'setData()', judge: 'setJudge()' };
    const inCode = Object.keys(this.#given).map((name) => names[name as keyof Given]);
    const comment = inCode.length === 0 ? '' : `Given in code, not in this file: ${inCode.join(', ')}. To run this file with ajet, name an export for each: path/file.ts->Export.`;
    mkdirSync(path.dirname(path.resolve(file)), { recursive: true });
    writeFileSync(file, formatConfig(this.#config, comment));
    return this;
  }

  /** Takes the whole configuration from a file; what code has set (workflow, data, judge) stays. */
  loadJobFromYaml(file: string, overrides: readonly string[] = []): this {
    this.#config = loadConfig(file, overrides);
    return this;
  }

  /** Trains, as the configuration says. With backbone `debug`: runs a few episodes and trains nothing. */
  async tune(options: TuneOptions = {}): Promise<JobResult> {
    const { tune } = await import('./tune.js');
    return tune(this.#config, { ...options, inputs: await loadInputs(this.#config, this.#given), onEvent: options.onEvent ?? logToStderr });
  }

  /** Runs the evaluation tasks. Null when the signal ended it. */
  async evaluate(options: EvaluateOptions = {}): Promise<Evaluation | null> {
    const { evaluateModel } = await import('./evaluate.js');
    return evaluateModel(this.#config, { ...options, inputs: await loadInputs(this.#config, this.#given), onEvent: options.onEvent ?? logToStderr });
  }
}

function createReader({ training, validation }: { readonly training: TaskSource; readonly validation?: TaskSource }): TaskReader {
  if (training === undefined) throw new ConfigError('no_tasks', 'setData() got no training tasks. Pass { training: tasks }, a list or an async generator function.');
  return createTaskReader({ training, ...(validation === undefined ? {} : { evaluation: validation }) });
}

function mergeInput(base: unknown, over: unknown): unknown {
  const isSection = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value);
  if (!isSection(base) || !isSection(over)) return over;
  const merged = { ...base };
  for (const [key, value] of Object.entries(over)) merged[key] = mergeInput(base[key], value);
  return merged;
}
