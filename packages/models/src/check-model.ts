import {
  BackboneError,
  sectionOf,
  toErrorMessage,
  type CommonConfig,
  type Gpus,
  type JsonObject,
} from '@agentjet/core';
import { backbones } from '@agentjet/trainer/registrations';
import { readAvailableMemory, type AvailableMemory } from './needs/available-memory.js';
import { waysOut } from './needs/describe-need.js';
import { judgeNeed, type Machine, type NeedVerdict } from './needs/judge-need.js';
import { readGpus } from './needs/read-gpus.js';
import { describeTeacher } from './policy/describe-teacher.js';
import { withPacks } from './policy/judge-model.js';
import { resolveModelDir } from './policy/model-dir.js';
import { readDescription } from './policy/read-description.js';

export type ModelCheck = {
  readonly model: string;
  readonly machine: Machine;
  readonly backbones: readonly BackboneCheck[];
};

export type BackboneCheck = {
  readonly name: string;
  /** The verdicts for training and for sampling alone. Both are undefined if the backbone cannot run this model. */
  readonly training: NeedVerdict | undefined;
  readonly sampling: NeedVerdict | undefined;
  /** The reason why the backbone cannot run this model. */
  readonly problem: string | undefined;
  /** Repairs, if training does not fit even with the smaller packs that a run would choose. Empty if it fits. */
  readonly waysOut: readonly string[];
};

export type CheckModelOptions = {
  /** The configuration that the estimate is for. Its `model.path` is ignored. */
  readonly config: CommonConfig;
  /** Replaces the GPUs and the memory of this machine in the estimate. */
  readonly gpus?: Gpus;
  readonly memory?: AvailableMemory;
  readonly signal?: AbortSignal;
  readonly onNotice: (message: string) => void;
};

/** Estimates the model's needs on each backbone. For a model of the hub, only the small files are downloaded. */
export async function checkModel(model: string, options: CheckModelOptions): Promise<ModelCheck> {
  const { signal, onNotice } = options;
  const config = { ...options.config, model: { ...options.config.model, path: model } };
  const dir = await resolveModelDir(model, { withWeights: false, signal, onNotice });
  const description = await readDescription(dir);
  const gpus = options.gpus === undefined ? await readGpus() : options.gpus;
  const teacher = await describeTeacher(config, { modelDir: dir, signal, onNotice });
  const machine = { memory: options.memory ?? readAvailableMemory(), gpus };
  return {
    model,
    machine,
    backbones: await Promise.all(
      backbones.map((backbone) => checkBackbone(backbone, { config, description, teacher, machine })),
    ),
  };
}

type Job = {
  readonly config: CommonConfig;
  readonly description: JsonObject;
  readonly teacher: JsonObject | undefined;
  readonly machine: Machine;
};

async function checkBackbone(
  backbone: (typeof backbones)[number],
  { config, description, teacher, machine }: Job,
): Promise<BackboneCheck> {
  const section = sectionOf(config, 'backbones', backbone);
  const estimate = await backbone.loadEstimate?.();
  const judgeAs = (wanted: CommonConfig, trains: boolean): NeedVerdict | undefined =>
    estimate &&
    judgeNeed({ backbone, estimate, config: wanted, section, model: description, teacher, trains, machine });
  const judge = (trains: boolean): NeedVerdict | undefined => {
    const verdict = judgeAs(config, trains);
    const packTokens = trains ? (verdict?.packTokens ?? 0) : 0;
    if (verdict === undefined || packTokens === 0) return verdict;
    const smaller = judgeAs(withPacks(config, { packTokens }), trains);
    return smaller && { ...smaller, packTokens };
  };
  try {
    const [training, sampling] = [judge(true), judge(false)];
    const ways = training?.fits === false ? waysOut(training, config, true) : [];
    return { name: backbone.name, training, sampling, problem: undefined, waysOut: ways };
  } catch (error) {
    if (!(error instanceof BackboneError)) throw error;
    return {
      name: backbone.name,
      training: undefined,
      sampling: undefined,
      problem: toErrorMessage(error),
      waysOut: [],
    };
  }
}
