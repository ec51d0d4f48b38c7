/** Opens the present weights of a model for sampling. */

import type { FrozenBase } from '../training/adapter/frozen-base.js';
import type { OnnxModel } from '../training/onnx-model.js';
import { WeightFiles } from '../training/frozen/weight-files.js';
import { tensorsOf } from '../training/parameter-tensors.js';
import type { OpenWeights } from './embedded-engine.js';
import type { StepSession, StepSessionFactory } from './step-session.js';

export type WeightsOpener = {
  open(): Promise<OpenWeights>;
  /** Closes what several versions of the weights share. */
  close(): Promise<void>;
};

export function createWeightsOpener(model: OnnxModel, factory: StepSessionFactory): WeightsOpener {
  return model.base === undefined ? openingEachVersion(model, factory) : openingOnce(model, model.base, factory);
}

function openingEachVersion(model: OnnxModel, factory: StepSessionFactory): WeightsOpener {
  const open = async (): Promise<OpenWeights> => {
    const { policyVersion } = model;
    const session = await factory.open({ format: 'float32', values: model.parameters });
    return { model: session, policyVersion, close: () => session.close() };
  };
  return { open, close: async () => undefined };
}

/** Opens one session for all versions. A step changes only the adapter, which is an input of the graph. */
function openingOnce(model: OnnxModel, base: FrozenBase, factory: StepSessionFactory): WeightsOpener {
  const { layout, parameters } = model;
  let opened: Promise<OpenedSession> | undefined;
  const openSession = async (): Promise<OpenedSession> => {
    try {
      const files = await toFiles(base);
      const session = await factory.open(files ?? base.weights, tensorsOf(layout, parameters));
      await (files === base.weights ? files?.unlink() : files?.close());
      return { session, files };
    } catch (error) {
      opened = undefined;
      throw error;
    }
  };
  const open = async (): Promise<OpenWeights> => {
    const { session } = await (opened ??= openSession());
    return { model: session, policyVersion: model.policyVersion, close: async () => undefined };
  };
  const close = async (): Promise<void> => {
    const { session, files } = (await opened) ?? {};
    await session?.close();
    if (files !== base.weights) await files?.close(); // removes what Windows could not remove while it was in use
  };
  return { open, close };
}

type OpenedSession = { readonly session: StepSession; readonly files: WeightFiles | undefined };

/** Returns undefined for weights in single precision, and if no files can be written. */
async function toFiles({ layout, weights }: FrozenBase): Promise<WeightFiles | undefined> {
  if (weights instanceof WeightFiles) return weights;
  if (weights.format === 'float32') return undefined;
  return WeightFiles.copyOf(layout, weights).catch(() => undefined);
}
