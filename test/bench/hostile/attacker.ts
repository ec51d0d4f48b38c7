import { Agent, request, type ClientRequest } from 'node:http';
import { connect } from 'node:net';
import type { Attack } from './attacks.js';

export type Outcome = {
  /** The HTTP status, or 0 if the connection was closed without an answer. */
  readonly status: number;
  /** The bytes of the body that were sent before the answer came. */
  readonly sentBytes: number;
};

const chunkBytes = 64 * 1024;

/** Sends requests with the faults that their descriptions name. */
export class Attacker {
  readonly #url: URL;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 64 });

  constructor(url: string) {
    this.#url = new URL(url);
  }

  send = (attack: Attack): Promise<Outcome> => (attack.isRaw === true ? this.#sendRaw(attack) : this.#send(attack));

  close(): void {
    this.#agent.destroy();
  }

  #send({ method, path, headers = {}, body = '', stallsMs }: Attack): Promise<Outcome> {
    const bytes = Buffer.from(body);
    return new Promise((resolve) => {
      const progress = { sentBytes: 0, isOver: false };
      const finish = (status: number): void => {
        progress.isOver = true;
        resolve({ status, sentBytes: progress.sentBytes });
      };
      const length = bytes.length > 0 ? { 'content-length': bytes.length } : {};
      const { hostname, port } = this.#url;
      const options = { hostname, port, path, method, agent: this.#agent, headers: { ...headers, ...length } };
      const sent = request(options, (response) => {
        response.resume();
        finish(response.statusCode ?? 0);
        response.once('close', () => sent.destroy());
      });
      sent.once('error', () => finish(0));
      if (stallsMs === undefined) return void write(sent, bytes, progress);
      sent.write(bytes.subarray(0, 1)); // after this byte, nothing more is sent
      setTimeout(() => sent.destroy(), stallsMs);
    });
  }

  #sendRaw({ body = '' }: Attack): Promise<Outcome> {
    return new Promise((resolve) => {
      const socket = connect(Number(this.#url.port), this.#url.hostname);
      let answer = '';
      socket.on('data', (chunk: Buffer) => {
        answer += chunk.toString('latin1');
        socket.destroy();
      });
      socket.on('error', () => {}); // the server closed the connection, as it should
      socket.once('close', () => resolve({ status: Number(answer.split(' ')[1] ?? 0), sentBytes: 0 }));
      socket.setTimeout(2000, () => socket.destroy());
      socket.write(body);
    });
  }
}

/** Sends piece by piece, as fast as the server reads. */
async function write(
  sent: ClientRequest,
  bytes: Buffer,
  progress: { sentBytes: number; readonly isOver: boolean },
): Promise<void> {
  for (let at = 0; at < bytes.length && !progress.isOver && !sent.destroyed; at += chunkBytes) {
    const piece = bytes.subarray(at, at + chunkBytes);
    const isTaken = sent.write(piece);
    progress.sentBytes += piece.length;
    if (!isTaken) {
      await new Promise<void>((resolve) => {
        const go = (): void => resolve();
        sent.once('drain', go).once('close', go).once('response', go).once('error', go);
      });
    }
  }
  if (!sent.destroyed) sent.end();
}
