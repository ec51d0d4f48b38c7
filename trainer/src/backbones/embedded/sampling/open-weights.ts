/** Opens the present weights of a model for sampling. */

import type { FrozenBase } from '../training/adapter/frozen-base.js';
import type { ParameterLayout } from '../training/model/parameter-layout.js';
import type { OnnxModel } from '../training/onnx-model.js';
import { WeightFiles } from '../training/frozen/weight-files.js';
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
  let opened: Promise<OpenedSession> | undefined;
  const open = async (): Promise<OpenWeights> => {
    opened ??= openSession(base, factory);
    const { session } = await opened.catch((error: unknown) => {
      opened = undefined;
      throw error;
    });
    session.useAdapters(model.parameters);
    return { model: session, policyVersion: model.policyVersion, close: async () => session.releaseMemory() };
  };
  const close = async (): Promise<void> => {
    const { session, copy } = (await opened) ?? {};
    await session?.close();
    await copy?.close(); // removes what Windows could not remove while it was in use
  };
  return { open, close };
}

type OpenedSession = { readonly session: StepSession; readonly copy: WeightFiles | undefined };

async function openSession({ layout, weights }: FrozenBase, factory: StepSessionFactory): Promise<OpenedSession> {
  const copy = await copyToFiles(layout, weights);
  try {
    const session = await factory.open(copy ?? weights);
    if (weights instanceof WeightFiles) await weights.unlink();
    return { session, copy };
  } finally {
    await copy?.close();
  }
}

/** Returns undefined if the weights are in files already or in single precision, or if no files can be written. */
async function copyToFiles(layout: ParameterLayout, weights: FrozenBase['weights']): Promise<WeightFiles | undefined> {
  if (weights instanceof WeightFiles || weights.format === 'float32') return undefined;
  return WeightFiles.copyOf(layout, weights).catch(() => undefined);
}
