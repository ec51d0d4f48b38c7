/** A request with rows, in both formats that servers accept. */

import type { JsonObject } from '@agentjet/core';
import { BinaryWriter } from '@bufbuild/protobuf/wire';
import { ProtobufWriter } from '../../../protobuf-writer.js';
import { toDatum, type RowData } from '../row-data.js';

export type RowRequest = {
  readonly modelId: string;
  readonly sequence: number;
  readonly rows: readonly RowData[];
  readonly loss: string;
  /** True if the request does not compute a gradient. */
  readonly isForward: boolean;
};

/** Requests with and without a gradient have the same route in protobuf. */
export const protobufRoute = 'forward_backward';

export function jsonRoute({ isForward }: RowRequest): string {
  return isForward ? 'forward' : 'forward_backward';
}

export function toJsonBody(request: RowRequest): JsonObject {
  const input = { data: request.rows.map(toDatum), loss_fn: request.loss };
  return { model_id: request.modelId, seq_id: request.sequence, [`${jsonRoute(request)}_input`]: input };
}

const float32 = 1;
const int64 = 2;

/** Writes a ForwardBackwardRequest as SDK 0.38.0 does. */
export function toProtobuf({ modelId, sequence, rows, loss, isForward }: RowRequest): Uint8Array {
  const request = new ProtobufWriter().string(1, modelId).int(2, sequence);
  for (const row of rows) request.message(3, (datum) => writeDatum(datum, row));
  request.string(4, loss);
  if (isForward) request.int(6, 1);
  return asBytes(request.finish());
}

function writeDatum(datum: ProtobufWriter, { ids, inputs }: RowData): void {
  datum.message(1, (model) => model.message(1, (chunk) => chunk.bytes(1, asBytes(ids.slice(0, -1)))));
  const tensors = [
    ...Object.entries(inputs).map(([name, values]) => ({ name, values: Float32Array.from(values), type: float32 })),
    { name: 'target_tokens', values: toInt64(ids.subarray(1)), type: int64 },
  ];
  for (const { name, values, type } of tensors.toSorted((left, right) => (left.name < right.name ? -1 : 1)))
    datum.message(2, (entry) =>
      entry.string(1, name).message(2, (tensor) => {
        tensor.bytes(1, asBytes(values)).int(3, type).bytes(4, new BinaryWriter().int64(values.length).finish());
      }),
    );
}

function toInt64(ids: Int32Array): BigInt64Array {
  return BigInt64Array.from(ids, BigInt);
}

function asBytes({ buffer, byteOffset, byteLength }: ArrayBufferView): Buffer {
  return Buffer.from(buffer as ArrayBuffer, byteOffset, byteLength);
}
