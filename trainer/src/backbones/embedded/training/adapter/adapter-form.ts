/** Chooses the matrices that get a low-rank adapter, and places the adapters in one flat buffer. */

import { BackboneError } from '@agentjet/core';
import type { LoraOptions } from '../../../lora-options.js';
import { place, type ParameterLayout } from '../model/parameter-layout.js';

/** The output of an adapted matrix W is W x + scale B A x, with A [rank, in] and B [out, rank]. */
export type AdapterForm = {
  readonly rank: number;
  readonly alpha: number;
  readonly scale: number;
  /** The adapted modules, such as `model.layers.0.self_attn.q_proj`. */
  readonly modules: readonly string[];
  /**
   * The same modules, as peft names them. A name is only its last part, such as `q_proj`, if all modules with this last
   * part are adapted. Otherwise it is the whole name.
   */
  readonly targetModules: readonly string[];
  /** The trained parameters: `lora_A.weight` and `lora_B.weight` of each module. Weight decay applies to all. */
  readonly layout: ParameterLayout;
};

const defaultAlpha = 32;
const allLinear = 'all-linear';

/** The form of a model that only samples: it adapts no module. */
export const noAdapter: AdapterForm = {
  rank: 0,
  alpha: 0,
  scale: 0,
  modules: [],
  targetModules: [],
  layout: { parameters: [], length: 0, decayedLength: 0 },
};

/** Throws BackboneError `bad_options` for a module that this engine cannot adapt. */
export function adapterForm(base: ParameterLayout, options: LoraOptions): AdapterForm {
  const { rank, alpha = defaultAlpha, targetModules = [allLinear] } = options;
  const matrices = layerMatrices(base);
  const found = chooseMatrices(matrices, targetModules);
  const shaped = found.flatMap(({ module, numOut, numIn }) => [
    { name: `${module}.lora_A.weight`, shape: [rank, numIn] },
    { name: `${module}.lora_B.weight`, shape: [numOut, rank] },
  ]);
  const { placed, end } = place(shaped, 0);
  return {
    rank,
    alpha,
    scale: alpha / rank,
    modules: found.map(({ module }) => module),
    targetModules: peftNames(found, matrices),
    layout: { parameters: placed, length: end, decayedLength: end },
  };
}

type Matrix = { readonly module: string; readonly numOut: number; readonly numIn: number };

function layerMatrices({ parameters }: ParameterLayout): readonly Matrix[] {
  return parameters.flatMap(({ name, shape: [numOut, numIn] }) =>
    name.startsWith('model.layers.') && numOut !== undefined && numIn !== undefined
      ? [{ module: name.slice(0, -'.weight'.length), numOut, numIn }]
      : [],
  );
}

function chooseMatrices(matrices: readonly Matrix[], targets: readonly string[]): readonly Matrix[] {
  if (targets.length === 1 && targets[0] === allLinear) return matrices;
  const isNamed = (module: string, target: string): boolean => module === target || module.endsWith(`.${target}`);
  const missing = targets.find((target) => !matrices.some(({ module }) => isNamed(module, target)));
  if (missing !== undefined) throw unknownModule(missing, matrices);
  return matrices.filter(({ module }) => targets.some((target) => isNamed(module, target)));
}

function peftNames(found: readonly Matrix[], matrices: readonly Matrix[]): readonly string[] {
  const count = (of: readonly Matrix[], name: string): number => of.filter((each) => lastPart(each) === name).length;
  const names = found.map((each) => {
    const name = lastPart(each);
    return count(found, name) === count(matrices, name) ? name : each.module;
  });
  return [...new Set(names)];
}

function lastPart({ module }: Matrix): string {
  return module.slice(module.lastIndexOf('.') + 1);
}

function unknownModule(target: string, matrices: readonly Matrix[]): BackboneError {
  const known = [...new Set(matrices.map(lastPart))];
  const reason =
    target === allLinear
      ? `has ${JSON.stringify(target)} and other names. Use ${JSON.stringify(target)} alone, or names alone`
      : `has ${JSON.stringify(target)}, which the onnx backbone cannot adapt`;
  return new BackboneError(
    'bad_options',
    `lora.target_modules ${reason}. It adapts ${known.join(', ')}; backbone: torch also adapts the embedding and the head.`,
  );
}
