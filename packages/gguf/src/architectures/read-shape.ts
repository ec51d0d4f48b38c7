import { BackboneError } from '@agentjet/core';
import { badFile } from '@agentjet/trainer/model-files';
import { countAt, numberAt, positiveAt, shortestFloat32, textAt } from '../metadata.js';
import type { GgufFile } from '../read-gguf.js';
import type { Architecture } from './architecture.js';
import { architectures } from './registrations.js';

/** The model that the metadata describes. */
export type GgufShape = {
  readonly architecture: Architecture;
  readonly numLayers: number;
  readonly hiddenSize: number;
  readonly intermediateSize: number;
  readonly numHeads: number;
  readonly numKvHeads: number;
  readonly headDim: number;
  readonly contextLength: number;
  readonly theta: number;
  readonly rmsNormEpsilon: number;
};

/** Keys that would change the computation. No model of these architectures has them. */
const refusedKeys = [
  'expert_count',
  'logit_scale',
  'residual_scale',
  'embedding_scale',
  'attention.scale',
  'attention.clamp_kqv',
  'attention.max_alibi_bias',
];

/**
 * Throws BackboneError `unsupported_model` for another architecture, and `bad_model_files` if the metadata do not
 * describe a model.
 */
export function readShape(gguf: GgufFile): GgufShape {
  const architecture = readArchitecture(gguf);
  const key = (name: string): string => `${architecture.name}.${name}`;
  for (const name of refusedKeys) if ((numberAt(gguf, key(name)) ?? 0) !== 0) throw refuseKey(gguf, key(name));
  const [hiddenSize, numHeads] = [countAt(gguf, key('embedding_length')), countAt(gguf, key('attention.head_count'))];
  const headDim = numberAt(gguf, key('attention.key_length')) ?? hiddenSize / numHeads;
  for (const name of ['rope.dimension_count', 'attention.value_length'])
    if ((numberAt(gguf, key(name)) ?? headDim) !== headDim)
      throw badFile(
        gguf.file,
        `its ${key(name)} is ${numberAt(gguf, key(name))}, but its heads have ${headDim} values`,
      );
  if (!Number.isInteger(headDim / 2)) throw badFile(gguf.file, `its heads have ${headDim} values, not an even number`);
  return {
    architecture,
    numLayers: countLayers(gguf, key('block_count')),
    hiddenSize,
    intermediateSize: countAt(gguf, key('feed_forward_length')),
    numHeads,
    numKvHeads: gguf.metadata.has(key('attention.head_count_kv'))
      ? countAt(gguf, key('attention.head_count_kv'))
      : numHeads,
    headDim,
    contextLength: countAt(gguf, key('context_length')),
    theta: shortestFloat32(positiveAt(gguf, key('rope.freq_base')) ?? 10_000),
    rmsNormEpsilon: shortestFloat32(positiveAt(gguf, key('attention.layer_norm_rms_epsilon')) ?? 1e-5),
  };
}

/** Each layer has tensors, so a count above theirs is wrong. It would take the memory of as many names. */
function countLayers(gguf: GgufFile, key: string): number {
  const count = countAt(gguf, key);
  if (count <= gguf.tensors.size) return count;
  throw badFile(gguf.file, `its ${key} is ${count}, but it has ${gguf.tensors.size} tensors`);
}

function readArchitecture(gguf: GgufFile): Architecture {
  const name = textAt(gguf, 'general.architecture');
  const found = architectures.find((each) => each.name === name);
  if (found !== undefined) return found;
  throw new BackboneError(
    'unsupported_model',
    `${gguf.file} holds a model of architecture ${name === undefined ? 'unknown' : JSON.stringify(name)}; the supported architectures are ${architectures.map((each) => each.name).join(', ')}. Use the model's folder in the Hugging Face layout, or its name on the hub.`,
  );
}

function refuseKey({ file, metadata }: GgufFile, key: string): BackboneError {
  return new BackboneError(
    'unsupported_model',
    `${file} has ${key} ${String(metadata.get(key))}, which changes what the model computes and is not supported here.`,
  );
}
