/** Opens ONNX Runtime sessions with the settings that several sessions on few cores need. */

import { toErrorMessage } from '@agentjet/core';
import type { InferenceSession, Tensor } from 'onnxruntime-node';
import { loadRuntime } from './load-runtime.js';

const runtime = loadRuntime();

export type OnnxSessionOptions = {
  /** Threads inside one operator. */
  readonly threads: number;
  /** Whether ONNX Runtime may fuse operators. Fused operators exist only in float32. Defaults to true. */
  readonly canFuse?: boolean;
  /** Bytes that the model's external tensors refer to, by location. */
  readonly externalData?: readonly { readonly path: string; readonly data: Uint8Array }[];
  /**
   * A folder with files that the model's external tensors refer to, by location. The session maps them into memory and
   * keeps only what it does not pack, so that they take less memory than `externalData`.
   */
  readonly externalFolder?: string;
};

export async function openSession(
  model: Uint8Array,
  { threads, canFuse = true, externalData, externalFolder }: OnnxSessionOptions,
): Promise<InferenceSession> {
  return runtime.InferenceSession.create(model, {
    intraOpNumThreads: threads,
    interOpNumThreads: 1,
    graphOptimizationLevel: canFuse ? 'all' : 'basic',
    logSeverityLevel: 3,
    // Turned off, because ONNX Runtime would plan and keep a memory pattern for each input shape. That costs memory and
    // saves no time if shapes change.
    enableMemPattern: false,
    // Operators take between a microsecond and a millisecond. If threads sleep in between, training takes a tenth
    // longer and sampling a third. If they spin for long, other work gets no core. Threads therefore spin briefly, stop
    // with the run, and take their blocks one by one, so other work gets its share of the cores.
    extra: {
      session: {
        set_denormal_as_zero: '1',
        use_device_allocator_for_initializers: '1',
        force_spinning_stop: '1',
        dynamic_block_base: '4',
        intra_op: { spin_duration_us: '20' },
        ...(externalFolder !== undefined && { model_external_initializers_file_folder_path: externalFolder }),
      },
    },
    ...(externalData === undefined ? {} : { externalData }),
  });
}

/** The name of the first output of a graph for `runInto`: a sequence, which onnxruntime-node cannot return. */
export const unreturnedOutput = 'unreturned';
const unreturnedError = /non.?tensor type/i;

/**
 * Runs the session and writes its outputs into the given tensors. `run` would then copy each output into a new array, which
 * can take longer than the operators. It converts the outputs in their order after all of them are computed, and the error
 * for `unreturnedOutput` ends it. A version that returns sequences would only be slower.
 */
export async function runInto(
  session: InferenceSession,
  feeds: InferenceSession.OnnxValueMapType,
  outputs: InferenceSession.OnnxValueMapType,
): Promise<void> {
  try {
    await session.run(feeds, { ...outputs, [unreturnedOutput]: null });
  } catch (error) {
    if (!unreturnedError.test(toErrorMessage(error))) throw error;
  }
}

/** A Uint16Array contains the bits of half-precision numbers. */
type TensorData = Float32Array | Float64Array | Uint16Array | Uint8Array | Int32Array | BigInt64Array;

/** Returns a tensor over the given memory, without a copy. */
export function toTensor(data: TensorData, shape: readonly number[]): Tensor {
  const tensor = new runtime.Tensor(elementTypeOf(data), data, shape);
  // On Node 24 and later, onnxruntime-common puts a Float16Array in place of a Uint16Array. The native library reads a
  // Float16Array as empty, so the tensor gets its own array back.
  if (tensor.data !== data) Object.defineProperty(tensor, 'cpuData', { value: data });
  return tensor;
}

function elementTypeOf(data: TensorData): 'float32' | 'float64' | 'float16' | 'uint8' | 'int32' | 'int64' {
  if (data instanceof Float32Array) return 'float32';
  if (data instanceof Float64Array) return 'float64';
  if (data instanceof Uint16Array) return 'float16';
  if (data instanceof Uint8Array) return 'uint8';
  return data instanceof Int32Array ? 'int32' : 'int64';
}
