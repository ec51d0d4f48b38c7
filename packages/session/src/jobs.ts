import type { CommonConfig } from '@agentjet/core';
import type { ExportedModel } from '@agentjet/trainer';
import type { EvaluateParts } from './evaluate-model.js';
import type { Evaluation, JobResult, SftResult } from '@agentjet/records';
import type { ExportModelOptions } from './policy/export-tuned-model.js';
import type { CheckModelOptions, ModelCheck } from './models/check-model.js';
import type { GetModelOptions, KnownModel, KnownModels } from './models/known-models.js';
import { requireOnePolicy } from './policy/require-one-policy.js';
import type { ServedModel, ServeModelOptions } from './policy/serve-tuned-model.js';
import type { VllmOptions } from './policy/serve-with-vllm.js';
import type { SftParts } from './sft/sft-job.js';
import type { TuneParts } from './tune.js';

/**
 * The functions of a job. Each loads the trainer when it is called, so importing this package for its types stays
 * cheap.
 */

/**
 * Loads the modules that training needs. Call it before loading a module of the user: that starts the TypeScript
 * compiler, and every later import goes through the compiler's thread and takes twice as long.
 */
export async function loadTrainer(): Promise<void> {
  await import('./tune.js');
}

/** Trains as configured. With backbone `debug` it runs a few episodes and trains nothing. */
export async function tuneJob(config: CommonConfig, parts: TuneParts): Promise<JobResult> {
  requireOnePolicy(config);
  const { tune } = await import('./tune.js');
  return tune(config, parts);
}

/** Trains the model to answer as transcripts do. */
export async function sftJob(config: CommonConfig, parts: SftParts): Promise<SftResult> {
  requireOnePolicy(config);
  const { imitate } = await import('./sft/sft-job.js');
  return imitate(config, parts);
}

/** Runs the evaluation tasks. Null if the signal ended it. */
export async function evaluateJob(config: CommonConfig, parts: EvaluateParts): Promise<Evaluation | null> {
  requireOnePolicy(config);
  const { evaluateModel } = await import('./evaluate-model.js');
  return evaluateModel(config, parts);
}

/** Serves a trained model: see `serveTunedModel`. */
export async function serveModelJob(dir: string, options: ServeModelOptions): Promise<ServedModel> {
  const { serveTunedModel } = await import('./policy/serve-tuned-model.js');
  return serveTunedModel(dir, options);
}

/** Serves a trained model on vLLM: see `serveWithVllm`. */
export async function serveWithVllmJob(dir: string, options: VllmOptions): Promise<ServedModel> {
  const { serveWithVllm } = await import('./policy/serve-with-vllm.js');
  return serveWithVllm(dir, options);
}

/** Exports a trained model for other programs: see `exportTunedModel`. */
export async function exportModelJob(dir: string, target: string, options: ExportModelOptions): Promise<ExportedModel> {
  const { exportTunedModel } = await import('./policy/export-tuned-model.js');
  return exportTunedModel(dir, target, options);
}

/** Lists the models in the cache of the hub: see `listModels`. */
export async function listModelsJob(): Promise<KnownModels> {
  const { listModels } = await import('./models/known-models.js');
  return listModels();
}

/** Downloads a model: see `getModel`. */
export async function getModelJob(name: string, options: GetModelOptions): Promise<KnownModel> {
  const { getModel } = await import('./models/known-models.js');
  return getModel(name, options);
}

/** Estimates the needs of a model on each backbone: see `checkModel`. */
export async function checkModelJob(model: string, options: CheckModelOptions): Promise<ModelCheck> {
  const { checkModel } = await import('./models/check-model.js');
  return checkModel(model, options);
}
