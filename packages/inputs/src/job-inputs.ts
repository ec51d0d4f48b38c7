import {
  ConfigError,
  openEntry,
  type Algorithm,
  type AlgorithmParts,
  type Backbone,
  type BackboneCapabilities,
  type BackboneParts,
  type CommonConfig,
  type ConfigComposition,
  type EstimateNeed,
  type OpenableEntry,
} from '@agentjet/core';
import {
  createEnvironment,
  createJudge,
  parseWorkflowSource,
  type Environment,
  type EnvironmentParts,
  type Judge,
  type JudgeParts,
  type ReaderParts,
  type TaskReader,
  type WorkflowSource,
} from '@agentjet/rollout/inputs';
import { createReader, importUserModule, limitSessions } from '@agentjet/rollout/loading';
import type { TemplateFamily } from '@agentjet/tokenizer';
import { checkReader } from './check-reader.js';
import { chooseEntry, constructed, hasMethods, type Choice, type KindReader } from './choose-entry.js';
import { findProcesses, type WorkflowProcesses } from './workflow-processes.js';

/** A backbone that is not open yet. */
export type BackboneEntry = OpenableEntry<BackboneParts, Backbone> & {
  readonly capabilities?: BackboneCapabilities;
  readonly readsWeights?: boolean;
  loadEstimate?(): Promise<EstimateNeed>;
};

/**
 * Everything that the user passes or names: the agent, the tasks, the backbone, and a judge if the agent does not
 * return rewards itself.
 */
export type JobInputs = {
  readonly workflow: WorkflowSource;
  readonly reader: TaskReader;
  readonly judge: Judge | undefined;
  /**
   * The environment of the tasks. Undefined if the workflow opens an environment itself. The owner of these inputs
   * closes it when the job ends.
   */
  readonly environment?: Environment | undefined;
  /** The processes that run workflows. Undefined if workflows run in this process. */
  readonly processes?: WorkflowProcesses | undefined;
  readonly algorithm: Algorithm;
  readonly backbone: BackboneEntry;
  /** If it is undefined, the family is recognized from the chat template. */
  readonly templateFamily: TemplateFamily | undefined;
  /** The composition that the configuration was checked against. */
  readonly composition: ConfigComposition;
};

/** Instances or registrations that code passed. The configuration names the others. */
export type GivenInputs = {
  readonly workflow?: WorkflowSource;
  readonly reader?: unknown;
  readonly judge?: unknown;
  readonly environment?: unknown;
  readonly algorithm?: unknown;
  readonly backbone?: unknown;
  readonly templateFamily?: unknown;
};

export const backboneKind: KindReader<BackboneParts, Backbone> = {
  kind: 'backbones',
  needs: 'engine, trainStep(), logprobs(), save(), load() and close()',
  toInstance(value, where) {
    const made = constructed(value, 'trainStep', where);
    return hasMethods(made, 'trainStep', 'logprobs', 'save', 'load', 'close') ? (made as Backbone) : undefined;
  },
};

export const algorithmKind: KindReader<AlgorithmParts, Algorithm> = {
  kind: 'algorithms',
  needs: 'a name and credit(group), which returns the samples of the group with their advantages',
  toInstance(value, where) {
    const made = constructed(value, 'credit', where);
    return hasMethods(made, 'credit') ? (made as Algorithm) : undefined;
  },
};

export const readerKind: KindReader<ReaderParts, TaskReader> = {
  kind: 'readers',
  needs: 'trainingTasks() and evaluationTasks()',
  toInstance: createReader,
};

export const judgeKind: KindReader<JudgeParts, Judge | undefined> = {
  kind: 'judges',
  needs: 'judge(task, output)',
  toInstance: createJudge,
};

export const environmentKind: KindReader<EnvironmentParts, Environment> = {
  kind: 'environments',
  needs: 'open(task, options), which returns a session',
  toInstance: createEnvironment,
  onlyInEntries: 'section',
};

export const templateKind: KindReader<unknown, TemplateFamily> = {
  kind: 'templates',
  needs: 'a name, turnEnds, recognizes(source) and createAnswer(builder)',
  toInstance: (value) => (hasMethods(value, 'recognizes', 'createAnswer') ? (value as TemplateFamily) : undefined),
};

export async function loadWorkflow(config: CommonConfig): Promise<WorkflowSource> {
  const reference = config.rollout.userWorkflow;
  if (reference === null) {
    throw new ConfigError(
      'no_workflow',
      'There is no workflow. Set rollout.user_workflow to path/file.ts->Export, or call setWorkflow() on the job.',
    );
  }
  return parseWorkflowSource(
    await importUserModule(reference, process.cwd(), 'rollout.user_workflow'),
    `rollout.user_workflow ${reference}`,
  );
}

async function chooseAll(composition: ConfigComposition, config: CommonConfig, given: GivenInputs) {
  const choose = <Common, Made>(value: unknown, reader: KindReader<Common, Made>) =>
    chooseEntry(composition, config, value, reader);
  return {
    backbones: await choose(given.backbone, backboneKind),
    algorithms: await choose(given.algorithm, algorithmKind),
    readers: await choose(given.reader, readerKind),
    judges: await choose(given.judge, judgeKind),
    environments: await choose(given.environment, environmentKind),
    templates: await choose(given.templateFamily, templateKind),
  };
}

/** Adds the settings of each chosen entry that is not registered in our packages to the composition. */
export function widen(
  composition: ConfigComposition,
  choices: Readonly<Record<string, Choice<never, unknown> | undefined>>,
): ConfigComposition {
  return Object.entries(choices).reduce(
    (wider, [kind, choice]) =>
      choice?.isOutside === true ? wider.with(kind as Parameters<typeof wider.with>[0], choice.entry) : wider,
    composition,
  );
}

export function firstBackbone(composition: ConfigComposition): BackboneEntry {
  const [first] = composition.registrations.backbones;
  if (first === undefined) throw new Error('A composition without a backbone can run nothing.');
  return first as BackboneEntry;
}

/**
 * Loads the job's inputs. If an entry is not registered in our packages, its settings are added to the configuration.
 * Reading the tasks may take long: `onNotice` gets the progress, and `signal` ends the reading.
 */
export async function loadInputs<Config extends CommonConfig>(
  given: GivenInputs,
  loaded: {
    readonly config: Config;
    readonly composition: ConfigComposition<Config>;
    /** The module of `rollout.workflow_processes`. Without it, workflows run in this process. */
    readonly workflowProcess?: URL;
  },
  { onNotice, signal }: Pick<ReaderParts, 'onNotice' | 'signal'> = {},
): Promise<{ readonly config: Config; readonly inputs: JobInputs }> {
  const base = loaded.composition as unknown as ConfigComposition;
  const choices = await chooseAll(base, loaded.config, given);
  const composition = widen(base, choices);
  const config = composition === base ? loaded.config : (composition.recheck(loaded.config) as Config);
  const { backbones, algorithms, readers, judges, environments, templates } = choices;
  if (algorithms === undefined || readers === undefined || judges === undefined)
    throw new Error('The configuration was checked, so it names entries that are registered.');
  const workflow = given.workflow ?? (await loadWorkflow(config));
  const configured =
    environments === undefined ? undefined : await openEntry('environments', environments.entry, config, { config });
  const reader = await openEntry('readers', readers.entry, config, {
    config,
    environment: configured,
    onNotice,
    signal,
  });
  const environment = reader.environment ?? configured;
  return {
    config,
    inputs: {
      workflow,
      reader: checkReader(reader),
      judge: await openEntry('judges', judges.entry, config, { config, signal }),
      environment: environment && limitSessions(environment, config.environment.maxSessions),
      processes: findProcesses(config, given, { entry: loaded.workflowProcess, environment: reader.environment }),
      algorithm: await openEntry('algorithms', algorithms.entry, config, { config }),
      backbone: backbones?.entry ?? firstBackbone(base), // `debug` is not a registered backbone
      templateFamily: templates === undefined ? undefined : await openFamily(templates.entry, config),
      composition,
    },
  };
}

/** Opens a template family. A registered family has no settings and is used as it is. */
export async function openFamily(
  entry: OpenableEntry<unknown, TemplateFamily>,
  config: CommonConfig,
): Promise<TemplateFamily> {
  return hasMethods(entry, 'createAnswer')
    ? (entry as unknown as TemplateFamily)
    : openEntry('templates', entry, config, { config });
}
