import { ConfigError, sumParts, type Gpus, formatBytes } from '@agentjet/core';
import {
  checkModel,
  describeNeed,
  describeParts,
  getModel,
  listModels,
  type BackboneCheck,
  type ModelCheck,
  type NeedVerdict,
} from '@agentjet/models';
import { configuration } from 'agentjet';
import { runInterruptibly } from '../interrupt.js';
import { createOutput } from '../output.js';
import type { CheckFlags, ModelFlags } from '../program.js';
import { toWhole } from './read-flags.js';

/** Runs `ajet model list` and returns the exit code. */
export async function listKnownModels(flags: ModelFlags): Promise<number> {
  const output = createOutput(flags);
  const { cacheDir, models } = await listModels();
  for (const { name, bytes, hasWeights, dir } of models)
    output.writeLine(`${name}  ${formatBytes(bytes)}${hasWeights ? '' : ', without weights'}  ${dir}`);
  if (models.every(({ commit }) => commit === null))
    output.writeLine(`There are no models of the hub in ${cacheDir}. \`ajet model get org/name\` downloads one.`);
  output.writeJson({
    cache_dir: cacheDir,
    models: models.map(({ name, commit, dir, bytes, hasWeights, source }) => ({
      name,
      commit,
      dir,
      bytes,
      has_weights: hasWeights,
      source,
    })),
  });
  return 0;
}

/** Runs `ajet model get` and returns the exit code. */
export async function getNamedModel(name: string, flags: ModelFlags): Promise<number> {
  const output = createOutput(flags);
  return runInterruptibly(
    () => output.writeLine('Stopping. The downloaded bytes are kept.'),
    async (signal) => {
      const { commit, dir, bytes, source } = await getModel(name, { signal, onNotice: output.writeLine });
      output.writeLine(`${name}  ${formatBytes(bytes)}  ${dir}`);
      output.writeJson({ name, commit, dir, bytes, source });
      return 0;
    },
  );
}

/**
 * Runs `ajet model check` and returns the exit code. It is 0 even if a model does not fit, because that is an answer.
 */
export async function checkNamedModel(model: string, overrides: readonly string[], flags: CheckFlags): Promise<number> {
  const output = createOutput(flags);
  const config = configuration.load(flags.conf ?? null, overrides);
  const gpus = toGpus(flags);
  return runInterruptibly(
    () => output.writeLine('Stopping.'),
    async (signal) => {
      const check = await checkModel(model, { config, signal, onNotice: output.writeLine, ...(gpus && { gpus }) });
      for (const line of describe(check)) output.writeLine(line);
      output.writeJson(toJson(check));
      return 0;
    },
  );
}

function toGpus({ gpus, gpuMemory, gpuName }: CheckFlags): Gpus | undefined {
  if (gpus === undefined && gpuMemory === undefined && gpuName === undefined) return undefined;
  const count = toWhole(gpus ?? '1', '--gpus', { least: 1, most: 100_000 });
  if (gpuMemory === undefined)
    throw new ConfigError(
      'wrong_value',
      `${gpus === undefined ? '--gpu-name' : '--gpus'} needs --gpu-memory as well, such as --gpu-memory 80GiB.`,
    );
  return { count, bytes: toBytes(gpuMemory), name: gpuName ?? null };
}

const units: Readonly<Record<string, number>> = { gib: 2 ** 30, gb: 1e9, mib: 2 ** 20, mb: 1e6 };

function toBytes(text: string): number {
  const [, value, unit = ''] = /^(\d+(?:\.\d+)?)\s*([GM]i?B)$/i.exec(text) ?? [];
  const factor = units[unit.toLowerCase()];
  if (value !== undefined && factor !== undefined && Number(value) > 0) return Math.round(Number(value) * factor);
  throw new ConfigError(
    'wrong_type',
    `--gpu-memory is ${JSON.stringify(text)}, not an amount such as 80GiB or 139GiB.`,
  );
}

function describe({ model, machine, backbones }: ModelCheck): readonly string[] {
  const { memory, gpus } = machine;
  const gpuText = gpus === null ? 'no GPU' : `${gpus.count} x ${gpus.name ?? 'GPU'} of ${formatBytes(gpus.bytes)}`;
  const limit = memory.limitedBy === 'container' ? ' in this container' : '';
  return [
    `${model}: ${formatBytes(memory.bytes)} of memory available${limit}, ${gpuText}`,
    ...backbones.flatMap((backbone) => describeBackbone(backbone)),
  ];
}

function describeBackbone({ name, training, sampling, problem, waysOut }: BackboneCheck): readonly string[] {
  if (problem !== undefined) return [`${name}: cannot run the model. ${problem}`];
  if (training === undefined) return [`${name}: unknown`];
  const { need, fits, packTokens } = training;
  if (need.place === 'none') return [`${name}: the server has the model; ${describeNeed(training)}`];
  const cpu = need.place === 'host' && name === 'torch' ? ', on the CPU' : '';
  const word =
    fits === null
      ? 'depends on the GPUs (--gpus 4 --gpu-memory 80GiB --gpu-name H100)'
      : fits
        ? 'fits'
        : 'does not fit';
  const { checkpointBytes } = need;
  const disk = checkpointBytes === undefined ? [] : [`  a checkpoint: ${formatBytes(checkpointBytes)} of disk`];
  const alone = sampling === undefined ? [] : [`  sampling alone: about ${formatBytes(sampling.neededBytes)}`];
  const pack =
    fits === true && packTokens !== null
      ? [`  larger packs would not fit, so a run makes packs of at most ${packTokens} tokens`]
      : [];
  return [
    `${name}: ${word}${cpu}; ${describeNeed(training)}`,
    `  ${describeParts(training)}`,
    ...alone,
    ...disk,
    ...pack,
    ...waysOut.map((way) => `  - ${way}`),
  ];
}

function toJson({ model, machine, backbones }: ModelCheck): unknown {
  const known = backbones.find(({ training }) => training !== undefined)?.training;
  return {
    model,
    parameters: known?.need.numParameters ?? null,
    available_bytes: machine.memory.bytes,
    limited_by: machine.memory.limitedBy,
    gpus: machine.gpus,
    backbones: Object.fromEntries(backbones.map((backbone) => [backbone.name, toBackboneJson(backbone)])),
  };
}

function toBackboneJson({ training, sampling, problem, waysOut }: BackboneCheck): unknown {
  return {
    problem: problem ?? null,
    place: training?.need.place ?? null,
    fits: training?.fits ?? null,
    checkpoint_bytes: whole(training?.need.checkpointBytes),
    needed_bytes: whole(training?.neededBytes),
    available_bytes: whole(training?.available?.bytes),
    sampling_bytes: whole(sampling?.neededBytes),
    full_pack_bytes: whole(training?.need.fullPackBytes),
    step_seconds: training?.need.stepSeconds ?? null,
    time_unknown: training?.need.timeUnknown ?? null,
    largest_parameters: whole(training?.largestParameters),
    longest_sample: training?.longestSample ?? null,
    pack_tokens: training?.packTokens ?? null,
    parts: partsOf(training),
    ways_out: waysOut,
  };
}

function whole(value: number | null | undefined): number | null {
  return value === null || value === undefined ? null : Math.ceil(value);
}

function partsOf(verdict: NeedVerdict | undefined): Readonly<Record<string, number | null>> {
  const parts = verdict?.need.parts ?? [];
  return Object.fromEntries(
    [...new Set(parts.map(({ name }) => name))].map((name) => [
      name,
      whole(sumParts(parts.filter((part) => part.name === name))),
    ]),
  );
}
