/** A request over rows, in both forms in which servers take it. */

import type { JsonObject } from '@agentjet/core';
import { toDatum, type RowData } from '../row-data.js';
import { bytesField, integerField, message } from './proto-fields.js';

export type RowRequest = {
  readonly modelId: string;
  readonly sequence: number;
  readonly rows: readonly RowData[];
  readonly loss: string;
  /** Asks for no gradient. */
  readonly isForward: boolean;
};

/** As protobuf, both kinds go to one route. */
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
export function toProtobuf({ modelId, sequence, rows, loss, isForward }: RowRequest): Buffer {
  return message(
    bytesField(1, modelId),
    integerField(2, sequence),
    ...rows.map((row) => bytesField(3, datum(row))),
    bytesField(4, loss),
    ...(isForward ? [integerField(6, 1)] : []),
  );
}

function datum({ ids, inputs }: RowData): Buffer {
  const tensors = {
    ...Object.fromEntries(Object.entries(inputs).map(([name, values]) => [name, floats(values)])),
    target_tokens: tensor(toInt64(ids.subarray(1)), int64, ids.length - 1),
  };
  const chunk = bytesField(1, bytesField(1, asBytes(ids.slice(0, -1))));
  const entries = Object.entries(tensors).toSorted(([left], [right]) => (left < right ? -1 : 1));
  return message(
    bytesField(1, chunk),
    ...entries.map(([name, value]) => bytesField(2, message(bytesField(1, name), bytesField(2, value)))),
  );
}

function floats(values: ArrayLike<number>): Buffer {
  return tensor(Float32Array.from(values), float32, values.length);
}

function tensor(values: Float32Array | BigInt64Array, type: number, length: number): Buffer {
  const shape = bytesField(4, integerField(0, length).subarray(1));
  return message(bytesField(1, asBytes(values)), integerField(3, type), shape);
}

function toInt64(ids: Int32Array): BigInt64Array {
  return BigInt64Array.from(ids, BigInt);
}

function asBytes({ buffer, byteOffset, byteLength }: ArrayBufferView): Buffer {
  return Buffer.from(buffer as ArrayBuffer, byteOffset, byteLength);
}
