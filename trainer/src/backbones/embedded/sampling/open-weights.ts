/** Opens the present weights of a model for sampling. */

import type { FrozenBase } from '../training/adapter/frozen-base.js';
import type { OnnxModel } from '../training/onnx-model.js';
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
  let opened: Promise<StepSession> | undefined;
  const openSession = async (): Promise<StepSession> => {
    try {
      return await factory.open(base.weights, tensorsOf(layout, parameters));
    } catch (error) {
      opened = undefined;
      throw error;
    }
  };
  const open = async (): Promise<OpenWeights> => {
    const session = await (opened ??= openSession());
    return { model: session, policyVersion: model.policyVersion, close: async () => undefined };
  };
  return { open, close: async () => (await opened)?.close() };
}
