/**
 * The messages between the control plane (this process) and a Python worker. `trainer/torch/ajet_torch/protocol.py`
 * implements the worker's side. A frame is a big-endian uint32 length and one msgpack map. Arrays are sent as their
 * little-endian bytes.
 */

/** The version of the messages. Each side refuses to work with another version. */
export const schemaVersion = 3;

export type HelloMessage = { readonly kind: 'hello'; readonly schema: number; readonly token: string };

/** The model is loaded. A worker may add details about itself here. */
export type ReadyMessage = { readonly kind: 'ready'; readonly context_length: number; readonly vocab_size: number };

export type WorkerMessage =
  | HelloMessage
  | ReadyMessage
  | { readonly kind: 'failed'; readonly code: string; readonly message: string }
  | { readonly kind: 'heartbeat'; readonly doing: string; readonly count: number }
  | { readonly kind: 'tokens'; readonly id: number; readonly ids: Uint8Array; readonly logprobs: Uint8Array }
  | { readonly kind: 'result'; readonly id: number; readonly value: unknown }
  | { readonly kind: 'error'; readonly id: number; readonly code: string; readonly message: string };

const workerKinds = new Set(['hello', 'ready', 'failed', 'heartbeat', 'tokens', 'result', 'error']);

/** Throws for anything that is not a message of the schema. */
export function parseWorkerMessage(value: unknown): WorkerMessage {
  if (typeof value !== 'object' || value === null || !('kind' in value) || !workerKinds.has(String(value.kind))) {
    throw new Error('The worker sent something that is not a message of this schema.');
  }
  return value as WorkerMessage;
}

/** Copies the bytes, because their position in the receive buffer may not be aligned. */
export function toInt32(bytes: Uint8Array): Int32Array {
  return new Int32Array(new Uint8Array(bytes).buffer);
}

export function toFloat32(bytes: Uint8Array): Float32Array {
  return new Float32Array(new Uint8Array(bytes).buffer);
}
