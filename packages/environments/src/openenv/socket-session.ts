import {
  EnvironmentError,
  type EnvironmentOutage,
  isJsonObject,
  parseJsonObject,
  toErrorMessage,
  type JsonObject,
} from '@agentjet/core';
import { WebSocket, type RawData } from 'ws';
import { AnswerCheck, mostAnswerBytes } from '../http/answer-check.js';
import { ServerOutage } from '../http/post-json.js';
import { repairAddress } from '../http/repair-address.js';

/**
 * One socket is one session. Frames have no ids, so the frame after a request is its answer. If the frames no longer
 * match the requests, the socket is closed. A request is never repeated on another socket.
 */

type Waiting = { readonly resolve: (answer: JsonObject) => void; readonly reject: (error: unknown) => void };

const closePatienceMs = 1000;

type ConnectOptions = {
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  /** The configuration key of the address, for messages. */
  readonly addressKey: string;
};

export class SocketSession {
  readonly #socket: WebSocket;
  readonly #host: string;
  #waiting: Waiting | undefined;
  #lost: EnvironmentOutage | undefined;
  #isClosed = false;

  private constructor(socket: WebSocket, host: string) {
    this.#socket = socket;
    this.#host = host;
    socket.on('message', (data, isBinary) => this.#receive(toBytes(data), isBinary));
    socket.on('error', (error) => this.#lose(toErrorMessage(error), error));
    socket.on('close', (code) => this.#lose(`the socket was closed (${code})`));
  }

  static async connect(url: string, { headers, signal, addressKey }: ConnectOptions): Promise<SocketSession> {
    signal.throwIfAborted();
    const { host } = new URL(url);
    const socket = new WebSocket(url, { headers, perMessageDeflate: false, maxPayload: mostAnswerBytes });
    const session = new SocketSession(socket, host);
    const onAbort = (): void => socket.terminate();
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      await new Promise<void>((resolve, reject) => {
        socket.once('open', () => resolve());
        socket.once('error', reject);
      });
      return session;
    } catch (error) {
      signal.throwIfAborted();
      const isAbsent = (error as { readonly code?: unknown }).code === 'ECONNREFUSED';
      const repair = isAbsent ? `. ${repairAddress(addressKey)}` : '';
      const message = `${host} did not open a WebSocket: ${toErrorMessage(error)}${repair}`;
      throw new ServerOutage(isAbsent ? 'absent' : 'lost', message, { host, cause: error });
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  }

  /** Sends a message once. Resolves with the answer, and rejects for an answer of the type `error`. */
  async ask(type: string, data: JsonObject | undefined, expected: string): Promise<JsonObject> {
    if (this.#lost !== undefined) throw this.#lost;
    if (this.#waiting !== undefined) throw new TypeError('A session sends only one request at a time.');
    const answer = await new Promise<JsonObject>((resolve, reject) => {
      this.#waiting = { resolve, reject };
      this.#socket.send(JSON.stringify({ type, ...(data !== undefined && { data }) }));
    });
    const body = isJsonObject(answer['data']) ? answer['data'] : {};
    if (answer['type'] === 'error') throw this.#toError(type, body);
    if (answer['type'] === expected) return body;
    throw this.#lose(`it answered ${type} with ${JSON.stringify(answer).slice(0, 200)}`);
  }

  /** Resolves once everything that the server has sent so far was read. */
  async settle(): Promise<void> {
    if (this.#lost !== undefined) throw this.#lost;
    await new Promise<void>((resolve, reject) => {
      this.#waiting = { resolve: () => reject(this.#lose('it sent an answer without a request')), reject };
      this.#socket.once('pong', () => resolve());
      this.#socket.ping();
    });
    this.#waiting = undefined;
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#lose('the session was closed');
    const { readyState } = this.#socket;
    if (readyState === WebSocket.CLOSED) return;
    const closed = new Promise<void>((resolve) => this.#socket.once('close', () => resolve()));
    if (readyState === WebSocket.OPEN) this.#socket.send('{"type":"close"}');
    this.#socket.close();
    const timer = setTimeout(() => this.#socket.terminate(), closePatienceMs);
    await closed;
    clearTimeout(timer);
  }

  #receive(bytes: Buffer, isBinary: boolean): void {
    const waiting = this.#waiting;
    if (this.#lost !== undefined) return;
    if (waiting === undefined) return this.#end('it sent an answer without a request');
    try {
      new AnswerCheck().read(bytes);
    } catch (error) {
      return this.#end(toErrorMessage(error));
    }
    const text = bytes.toString('utf8');
    const answer = isBinary ? undefined : parseJsonObject(text);
    if (answer === undefined) this.#end(`its answer is not a JSON object: ${text.slice(0, 200)}`);
    else {
      this.#waiting = undefined;
      waiting.resolve(answer);
    }
  }

  #end(why: string): void {
    this.#lose(why);
    this.#socket.terminate();
  }

  #lose(why: string, cause?: unknown): EnvironmentOutage {
    this.#lost ??= new ServerOutage('lost', `The session at ${this.#host} is lost: ${why}.`, {
      host: this.#host,
      cause,
    });
    const waiting = this.#waiting;
    this.#waiting = undefined;
    waiting?.reject(this.#lost);
    return this.#lost;
  }

  #toError(type: string, { code, message, errors }: JsonObject): Error {
    const why = `${typeof message === 'string' ? message : 'no message'}${errors === undefined ? '' : ` ${JSON.stringify(errors).slice(0, 300)}`}`;
    const said = `${this.#host} answered ${type} with the error ${String(code)}: ${why}`;
    if (code === 'CAPACITY_REACHED') return new ServerOutage('full', said, { host: this.#host });
    if (code === 'FACTORY_ERROR' || code === 'SESSION_ERROR')
      return new ServerOutage('lost', said, { host: this.#host });
    return new EnvironmentError('refused', said);
  }
}

function toBytes(data: RawData): Buffer {
  if (Array.isArray(data)) return Buffer.concat(data);
  return Buffer.isBuffer(data) ? data : Buffer.from(data);
}
