import type { Socket } from 'node:net';

import { decode, encode } from '@msgpack/msgpack';

/** The maximum size of a frame. Both sides refuse larger ones. */
export const maxFrameBytes = 1 << 30;

export function encodeFrame(message: Readonly<Record<string, unknown>>): Buffer {
  const body = encode(message);
  if (body.byteLength > maxFrameBytes)
    throw new Error(`A message of ${body.byteLength} bytes is over the limit of ${maxFrameBytes}.`);
  const frame = Buffer.allocUnsafe(4 + body.byteLength);
  frame.writeUInt32BE(body.byteLength, 0);
  frame.set(body, 4);
  return frame;
}

/** Cuts a byte stream into messages. Throws for a frame over the limit, because a correct worker never sends one. */
export class FrameReader {
  #chunks: Buffer[] = [];
  #buffered = 0;

  /** Returns the messages that the chunk completes, in order. */
  push(chunk: Buffer): readonly unknown[] {
    this.#chunks.push(chunk);
    this.#buffered += chunk.length;
    const messages: unknown[] = [];
    for (let body = this.#take(); body !== undefined; body = this.#take()) messages.push(decode(body));
    return messages;
  }

  #take(): Buffer | undefined {
    if (this.#buffered < 4) return undefined;
    const size = this.#peekSize();
    if (size > maxFrameBytes) throw new Error(`A frame of ${size} bytes is over the limit of ${maxFrameBytes}.`);
    if (this.#buffered < 4 + size) return undefined;
    const all = this.#chunks.length === 1 ? this.#first() : Buffer.concat(this.#chunks);
    this.#chunks = [all.subarray(4 + size)];
    this.#buffered -= 4 + size;
    return all.subarray(4, 4 + size);
  }

  #first(): Buffer {
    return this.#chunks[0] ?? Buffer.alloc(0);
  }

  #peekSize(): number {
    if (this.#first().length < 4) this.#chunks = [Buffer.concat(this.#chunks)];
    return this.#first().readUInt32BE(0);
  }
}

/** Writes one frame. Resolves when the socket takes more, so a slow reader slows the writer. */
export function writeFrame(socket: Socket, message: Readonly<Record<string, unknown>>): Promise<void> {
  return new Promise((resolve, reject) => {
    if (socket.destroyed) {
      reject(new Error('The connection to the worker is closed.'));
    } else if (socket.write(encodeFrame(message))) {
      resolve();
    } else {
      const done = (): void => {
        socket.off('drain', done);
        socket.off('close', done);
        resolve();
      };
      socket.once('drain', done);
      socket.once('close', done);
    }
  });
}
