/** Opens ONNX Runtime sessions with the settings that several sessions on few cores need. */

import { InferenceSession, Tensor } from 'onnxruntime-node';
import type { ElementType } from './graph/value.js';

export type OnnxSessionOptions = {
  /** Threads inside one operator. */
  readonly threads: number;
  /** ONNX Runtime's own fusions make operators that exist only in float32. Defaults to true. */
  readonly canFuse?: boolean;
  /** Bytes that the model's external tensors refer to, by location. */
  readonly externalData?: readonly { readonly path: string; readonly data: Uint8Array }[];
};

export async function openSession(
  model: Uint8Array,
  { threads, canFuse = true, externalData }: OnnxSessionOptions,
): Promise<InferenceSession> {
  return InferenceSession.create(model, {
    intraOpNumThreads: threads,
    interOpNumThreads: 1,
    graphOptimizationLevel: canFuse ? 'all' : 'basic',
    logSeverityLevel: 3,
    // A pattern is planned per input shape and held. It costs memory, and gains nothing if shapes change.
    enableMemPattern: false,
    // Operators take microseconds to a millisecond. Threads that sleep in between cost a tenth of training and a third
    // of sampling. Pools that spin for long take the core from other work. So threads spin briefly, stop with the run,
    // and take their blocks one by one, which leaves room for others.
    extra: {
      session: {
        set_denormal_as_zero: '1',
        force_spinning_stop: '1',
        dynamic_block_base: '4',
        intra_op: { spin_duration_us: '20' },
      },
    },
    ...(externalData === undefined ? {} : { externalData }),
  });
}

const tensorTypes = { float32: 'float32', float64: 'float64', int32: 'int32', int64: 'int64', bool: 'bool' } as const;

/** Returns a tensor over the given memory, without a copy. */
export function toTensor(
  data: Float32Array | Float64Array | Int32Array | BigInt64Array,
  shape: readonly number[],
): Tensor {
  return new Tensor(tensorTypes[elementTypeOf(data)], data, shape);
}

function elementTypeOf(data: Float32Array | Float64Array | Int32Array | BigInt64Array): ElementType {
  if (data instanceof Float32Array) return 'float32';
  if (data instanceof Float64Array) return 'float64';
  return data instanceof Int32Array ? 'int32' : 'int64';
}
