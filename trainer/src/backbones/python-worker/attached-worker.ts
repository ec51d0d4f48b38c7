import type { Socket } from 'node:net';

import type { WorkerProcess } from './worker-process.js';

/**
 * A worker that was started elsewhere. It ends when the connection closes, because its first process then ends all
 * others.
 */
export class AttachedWorker implements WorkerProcess {
  readonly pid = -1;
  readonly ended: Promise<string>;
  #end: (how: string) => void = () => undefined;
  #socket: Socket | undefined;

  constructor() {
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  hold(socket: Socket): void {
    this.#socket = socket;
    socket.once('close', () => this.#end('closed its connection'));
  }

  lastLines(): string {
    return '(The launcher that started the worker has its log.)';
  }

  lastWords(): undefined {
    return undefined;
  }

  kill(): void {
    this.#socket?.destroy();
    this.#end('was disconnected');
  }
}
