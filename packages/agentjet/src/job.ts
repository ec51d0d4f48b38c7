import { writeFileSync } from 'node:fs';
import path from 'node:path';
import {
  camelKeys,
  ConfigError,
  isJsonObject,
  kinds,
  makeFolders,
  mergeJson,
  nameGivenInCode,
  nestAtKey,
  toErrorMessage,
  type ExportReference,
  type InputOf,
  type SectionOf,
  type z,
} from '@agentjet/core';
import type { Calibration } from '@agentjet/judges';
import {
  createEnvironment,
  createJudge,
  parseWorkflowSource,
  type Environment,
  type EnvironmentRegistration,
  type Judge,
  type JudgeRegistration,
  type WorkflowSource,
} from '@agentjet/rollout/inputs';
import type { AuditReport, ProbeReport, RescoreReport } from '@agentjet/job';
import { readJobData, type JobData } from '@agentjet/inputs/data';
import type { Evaluation, JobListener, JobResult, SftResult } from '@agentjet/records';
import { givenBy, isRegistration, kindOptions, nameGiven, type Given } from './given-inputs.js';
import { toConfigInput, type JobOptions } from './job-options.js';
import type {
  AuditOptions,
  CalibrateOptions,
  EvaluateOptions,
  ProbeOptions,
  RescoreOptions,
  RunOptions,
  TuneOptions,
} from './run-options.js';
import { configuration, type AgentJetConfig, type ConfigInput } from './registrations.js';

/** The program of the processes of `rollout.workflow_processes`. */
const workflowProcess = new URL('./workflow-process.js', import.meta.url);

/**
 * Runs everything that `ajet` does from code:
 * ```ts
 * const job = new AgentJetJob({ model: 'nano' }).setWorkflow(MathAgent).setData({ training: 'train.jsonl' });
 * const { modelDir } = await job.tune();
 * ```
 * Every method throws ConfigError for wrong input before anything runs.
 */
export class AgentJetJob {
  #config: AgentJetConfig;
  readonly #given: Given;

  constructor(options: JobOptions = {}) {
    const { input, kinds: given } = toConfigInput(options);
    this.#given = { ...given };
    this.#config = configuration.create(input);
  }

  /** The current configuration. Change it with the options, `setConfig` or a YAML file. */
  get config(): AgentJetConfig {
    return this.#config;
  }

  /** Changes some keys, in camelCase. The other keys keep their values. */
  setConfig(input: ConfigInput): this {
    this.#config = configuration.create(mergeJson(this.#config, input) as ConfigInput);
    return this;
  }

  /**
   * Changes the settings of a registration that this job got as its backbone, algorithm, data or judge. The section of
   * the registration defines the type of the settings. Throws ConfigError `not_given` for any other registration.
   */
  setSection<Section extends z.ZodObject>(
    entry: { readonly name: string; readonly section: Section; readonly isFlat?: boolean },
    settings: InputOf<SectionOf<Section>>,
  ): this {
    const kind = kindOptions.find(([given]) => this.#given[given] === entry)?.[1];
    if (kind === undefined)
      throw new ConfigError(
        'not_given',
        `setSection() got "${entry.name}", which this job does not use. Give it first: new AgentJetJob({ backbone }), setData() or setJudge().`,
      );
    const places = [kinds[kind].host, entry.isFlat === true ? '' : entry.name].filter((place) => place !== '');
    return this.setConfig(camelKeys(nestAtKey(places.join('.'), settings)) as ConfigInput);
  }

  /** Sets the workflow: a Workflow class, a function (task, tuner), or `path/file.ts->Export`. */
  setWorkflow(workflow: WorkflowSource | string): this {
    if (typeof workflow === 'string') {
      delete this.#given.workflow;
      return this.setConfig({ rollout: { userWorkflow: workflow } });
    }
    this.#given.workflow = parseWorkflowSource(workflow, 'What setWorkflow() got');
    return this;
  }

  /** Sets the sources of tasks. A part that is left out has no tasks. */
  setData(data: JobData): this {
    const given = readJobData(data);
    delete this.#given.reader;
    if ('config' in given) return this.setConfig(given.config as ConfigInput);
    this.#given.reader = given.reader;
    return isRegistration(given.reader)
      ? this.setConfig({ taskReader: { type: nameGivenInCode(given.reader.name) } })
      : this;
  }

  /** Sets the judge: an object, a class, a function (task, output), a registration, or `path/file.ts->Export`. */
  setJudge(judge: Judge | Judge['judge'] | (new () => Judge) | JudgeRegistration | string): this {
    if (typeof judge === 'string') {
      delete this.#given.judge;
      return this.setConfig({ taskJudge: { judgeType: 'customized_protocol', judgeProtocol: judge } });
    }
    this.#given.judge = isRegistration(judge) ? judge : createJudge(judge, 'What setJudge() got');
    return isRegistration(judge) ? this.setConfig({ taskJudge: { judgeType: nameGivenInCode(judge.name) } }) : this;
  }

  /**
   * Sets the world for `tuner.openEnvironment(task)`: an object, a class, a registration, or `path/file.ts->Export`.
   */
  setEnvironment(environment: Environment | (new () => Environment) | EnvironmentRegistration | string): this {
    if (typeof environment === 'string') {
      delete this.#given.environment;
      return this.setConfig({ environment: { protocol: environment as ExportReference } });
    }
    const isEntry = isRegistration(environment) && 'section' in environment;
    this.#given.environment = isEntry ? environment : createEnvironment(environment, 'What setEnvironment() got');
    return this.setConfig({ environment: { protocol: nameGivenInCode(isEntry ? environment.name : 'environment') } });
  }

  /**
   * Writes the configuration to a file for `ajet --conf`. A comment at the top names the values that only code can set.
   */
  dumpJobAsYaml(file: string): this {
    const inCode = Object.keys(this.#given).map((name) => givenBy[name as keyof Given]);
    const comment =
      inCode.length === 0
        ? ''
        : `Set in code and not in this file: ${inCode.join(', ')}. To run this file with ajet, name an export for each: path/file.ts->Export.`;
    try {
      makeFolders(path.dirname(path.resolve(file)));
      writeFileSync(file, configuration.format(this.#config, comment));
    } catch (error) {
      throw new ConfigError(
        'unwritable_file',
        `Cannot write ${path.resolve(file)}: ${toErrorMessage(error)}. Choose another file.`,
        { cause: error },
      );
    }
    return this;
  }

  /**
   * Takes the whole configuration from a file. Values that code has set (workflow, data, judge, backbone, algorithm)
   * remain.
   */
  loadJobFromYaml(file: string, overrides: readonly string[] = []): this {
    this.#config = configuration.load(file, [...overrides, ...nameGiven(this.#given)]);
    return this;
  }

  /** Trains as configured. With backbone `debug`, it runs a few episodes and trains nothing. */
  async tune(options: TuneOptions = {}): Promise<JobResult> {
    checkFrom(options);
    const { tune, withTrackers } = await loadRunning();
    const listener = await listenerOf(options);
    const { config, inputs } = await this.#load(listener, options.signal);
    return withTrackers(config, listener, (onEvent) => tune(config, { ...options, inputs, onEvent }));
  }

  /**
   * Trains the model to answer as the transcripts of `sft.transcripts` do: the answers of a large model, collected with
   * `debug.collect`, or a file of conversations. `tune` continues from the result with `model.path`. It needs no
   * workflow.
   */
  async sft(options: TuneOptions = {}): Promise<SftResult> {
    checkFrom(options);
    const [{ withTrackers }, { imitate, loadSftInputs, toSftInput }] = await Promise.all([
      loadRunning(),
      import('@agentjet/sft'),
    ]);
    const base = configuration.create(mergeJson(this.#config, toSftInput(this.#config)) as ConfigInput);
    const { backbone, templateFamily, reader } = this.#given;
    const { config, inputs } = await loadSftInputs(
      { backbone, templateFamily, reader },
      { config: base, composition: configuration, signal: options.signal },
    );
    const listener = await listenerOf(options);
    const result = await withTrackers(config, listener, (onEvent) => imitate(config, { ...options, inputs, onEvent }));
    const success = await this.#measureImitated(result, { listener, signal: options.signal });
    return { ...result, ...(success !== undefined && { success }) };
  }

  /**
   * Evaluates the model after imitation, if there are a workflow and tasks. A failure is only a notice, because the model
   * is already saved.
   */
  async #measureImitated(
    { modelDir, isInterrupted }: SftResult,
    { listener, signal }: { readonly listener: JobListener; readonly signal: AbortSignal | undefined },
  ): Promise<Evaluation | undefined> {
    if (modelDir === null || isInterrupted) return undefined;
    const notice = (message: string): void => listener({ type: 'notice', message });
    const { rollout, trainerCommon } = this.#config;
    if (this.#given.workflow === undefined && rollout.userWorkflow === null) {
      notice('Success is not measured, because there is no workflow (rollout.user_workflow).');
      return undefined;
    }
    try {
      const [{ evaluateModel }, { judgeStart }] = await Promise.all([loadRunning(), import('@agentjet/sft')]);
      const { config, inputs } = await this.#load(listener, signal);
      const valSampled = Math.max(1, trainerCommon.valSampled);
      const sampling = { ...config, trainerCommon: { ...config.trainerCommon, valSampled } };
      const parts = { inputs, onEvent: listener, checkpoint: modelDir, ...(signal !== undefined && { signal }) };
      const evaluation = await evaluateModel(sampling, parts);
      if (evaluation === null) return undefined;
      notice(judgeStart(evaluation, { modelDir, rollout }));
      return evaluation;
    } catch (error) {
      notice(`Success is not measured: ${toErrorMessage(error)}`);
      return undefined;
    }
  }

  /** Runs the evaluation tasks. Resolves with null if the signal ended the evaluation. */
  async evaluate(options: EvaluateOptions = {}): Promise<Evaluation | null> {
    const { evaluateModel } = await loadRunning();
    const onEvent = await listenerOf(options);
    const { config, inputs } = await this.#load(onEvent, options.signal);
    return evaluateModel(config, { ...options, inputs, onEvent });
  }

  /**
   * Samples some training tasks, trains nothing, and predicts how a run would go: success, the share of groups that
   * train, time, memory, and the settings to choose. If the signal aborts, the report has what is known by then.
   */
  async probe(options: ProbeOptions = {}): Promise<ProbeReport> {
    const { probeModel } = await loadRunning();
    const onEvent = await listenerOf(options);
    const { config, inputs } = await this.#load(onEvent, options.signal);
    return probeModel(config, { ...options, inputs, onEvent });
  }

  /**
   * Finds out what the reward pays before a run relies on it: the workflow is played by scripted models that solve
   * nothing, and by one that gives right answers. No model is loaded. If the signal aborts, the report has what is
   * known by then.
   */
  async auditReward(options: AuditOptions = {}): Promise<AuditReport> {
    const { auditReward } = await loadRunning();
    const onEvent = await listenerOf(options);
    const { config, inputs } = await this.#load(onEvent, options.signal);
    return auditReward(config, { ...options, inputs, onEvent });
  }

  /**
   * Asks the judge about answers that people have scored: a JSONL file with main_query, answer and score (or label,
   * is_success, ranked) in each line. The answer is the agent's last message, and `output_metadata` is the metadata
   * that the workflow returned. Throws ConfigError `no_judge` if the configuration leaves rewards to the workflow.
   */
  async calibrateJudge(file: string, options: CalibrateOptions = {}): Promise<Calibration> {
    const { signal = new AbortController().signal, successFrom = null, parallel = 8 } = options;
    const [{ calibrateJudge, readLabelledExamples }, { loadJudge }] = await Promise.all([
      import('@agentjet/judges'),
      import('@agentjet/inputs'),
    ]);
    const examples = readLabelledExamples(file);
    const judge = requireJudge(
      await loadJudge(this.#given.judge, { config: this.#config, composition: configuration, signal }),
    );
    const agents = Object.values(this.#config.taskJudge).flatMap((section: unknown) =>
      isJsonObject(section) && typeof section['agent'] === 'string' ? [section['agent']] : [],
    );
    return calibrateJudge(judge, examples, { signal, successFrom, parallel, agents: [...new Set(agents)] });
  }

  /**
   * Asks the judge about the recorded episodes of a run, and reports what changed. Nothing is sampled, and the run is
   * not changed. Throws ConfigError `no_judge` if the configuration leaves rewards to the workflow.
   */
  async rescore(runDir: string, options: RescoreOptions = {}): Promise<RescoreReport> {
    const { signal = new AbortController().signal, step, parallel = 8 } = options;
    const [{ rescoreRun }, { loadJudge, loadTemplateFamily }] = await Promise.all([
      loadRunning(),
      import('@agentjet/inputs'),
    ]);
    const listener = await listenerOf(options);
    const loaded = { config: this.#config, composition: configuration };
    return rescoreRun({
      runDir,
      step,
      parallel,
      signal,
      judge: requireJudge(await loadJudge(this.#given.judge, { ...loaded, signal })),
      readConfig: (file) => {
        const config = configuration.load(file);
        noticeOtherWorkflow(config, this.#config, listener);
        return config;
      },
      templateFamily: await loadTemplateFamily(this.#given.templateFamily, loaded),
      openReader: async () => (await this.#load(listener, signal)).inputs.reader,
      onNotice: (message) => listener({ type: 'notice', message }),
    });
  }

  /**
   * Opens everything that the configuration names, and adds the sections of external registrations to the
   * configuration.
   */
  async #load(listener: JobListener, signal: AbortSignal | undefined) {
    const { loadInputs } = await import('@agentjet/inputs');
    return loadInputs(
      this.#given,
      { config: this.#config, composition: configuration, workflowProcess },
      { onNotice: (message) => listener({ type: 'notice', message }), signal },
    );
  }
}

/**
 * Loads the code of a run, which an agent that only imports this package does not need. Call it before you load a
 * module of the user. The first such module starts the TypeScript compiler. Every later import goes through the
 * compiler's thread and takes twice as long.
 */
async function loadRunning() {
  const [job, { withTrackers }] = await Promise.all([import('@agentjet/job'), import('./with-trackers.js')]);
  return { ...job, withTrackers };
}

/** Throws ConfigError `no_judge` if rewards come from the workflow. */
function requireJudge(judge: Judge | undefined): Judge {
  if (judge !== undefined) return judge;
  throw new ConfigError(
    'no_judge',
    'The configuration names no judge, so rewards come from the workflow. Set task_judge.judge_type, or task_judge.judge_protocol.',
  );
}

/** Default: a line per event on stderr. */
async function listenerOf({ onEvent }: RunOptions): Promise<JobListener> {
  if (onEvent !== undefined) return onEvent;
  const { createLineListener } = await import('./printing/event-lines.js');
  return createLineListener((line) => void process.stderr.write(`${line}\n`));
}

/** A judge of another project would give verdicts that mean nothing. */
function noticeOtherWorkflow(ofRun: AgentJetConfig, present: AgentJetConfig, listener: JobListener): void {
  const [made, named] = [ofRun.rollout.userWorkflow, present.rollout.userWorkflow];
  if (made === null || named === null || made === named) return;
  listener({
    type: 'notice',
    message: `The run was made with the workflow ${made}, and the configuration names ${named}. Check that the judge belongs to this run.`,
  });
}

function checkFrom({ from, resume = false }: TuneOptions): void {
  if (from !== undefined && resume === false)
    throw new ConfigError(
      'wrong_value',
      'The option "from" names a checkpoint of a run to continue, so it needs the option "resume". Set both.',
    );
}
