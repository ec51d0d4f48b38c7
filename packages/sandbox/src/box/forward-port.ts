import { randomUUID } from 'node:crypto';
import { Duplex, type Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { SandboxError } from '../code-runner.js';
import { exitOf, lastLine } from '../process/watch-limits.js';
import type { BoxClient } from './engine.js';
import { noLanguage } from './first-language.js';

/** A port of the loopback address inside of a box. Its connections arrive here as streams, without any network. */
export type ForwardedPort = {
  readonly port: number;
  /** Rejects with SandboxError if the port breaks before it is closed. */
  readonly broken: Promise<never>;
  /**
   * Resolves if the port works, so that all earlier connections had it. Rejects with SandboxError if it has broken, also
   * if `broken` has not noticed it yet.
   */
  readonly check: () => Promise<void>;
  readonly close: () => void;
};

/** The image of a box has no language that a forwarder is written in. */
export class NoLanguage extends SandboxError {}

const startSeconds = 60;
const checkSeconds = 60;

/** More than this is not read from the box before the receivers of its connections have read what arrived. */
const mostHeldBytes = 16 * 2 ** 20;

/** Waits until the forwarder that `client` runs listens. Calls `accept` with each connection. */
export async function forwardPort(client: BoxClient, accept: (stream: Duplex) => void): Promise<ForwardedPort> {
  /** The streams whose last frame has not arrived. A destroyed one stays here, so that its frames open no other. */
  const streams = new Map<number, FramedStream>();
  const open = new Set<FramedStream>();
  let isClosed = false;
  let said = '';
  client.stderr.setEncoding('utf8').on('data', (text: string) => (said = (said + text).slice(-2000)));
  const isFull = (): boolean => [...open].reduce((sum, { readableLength }) => sum + readableLength, 0) > mostHeldBytes;
  const resume = (): void => {
    if (client.stdout.isPaused() && !isFull()) client.stdout.resume();
  };
  const openStream = (id: number, stream: FramedStream): void => {
    streams.set(id, stream);
    open.add(stream);
    stream.once('close', () => {
      open.delete(stream);
      resume();
    });
    accept(stream);
  };
  /** Called with what the forwarder repeats. */
  const repeated = new Map<string, () => void>();
  const started = new Promise<number>((resolve) =>
    readFrames(client, (id, bytes) => {
      if (id === 0) {
        repeated.get(bytes.toString())?.();
        return resolve(Number(bytes.toString()));
      }
      let stream = streams.get(id);
      if (stream === undefined && bytes.length > 0) {
        stream = new FramedStream(id, client.stdin, resume);
        openStream(id, stream);
      }
      if (stream?.push(bytes.length === 0 ? null : bytes) === false && isFull()) client.stdout.pause();
      if (bytes.length === 0) streams.delete(id);
    }),
  );
  const broken = exitOf(client).then((): never => {
    for (const stream of open) stream.destroy();
    if (said.includes(noLanguage))
      throw new NoLanguage('unavailable', 'The image has none of python3, node and perl, so no port can be forwarded.');
    const why = lastLine(said) || 'its client ended';
    throw new SandboxError('failed', isClosed ? 'The port was closed.' : `A port of a box broke off: ${why}`);
  });
  broken.catch(() => undefined);
  const close = (): void => {
    isClosed = true;
    client.kill('SIGKILL'); // the forwarder ends with its standard input
  };
  const check = async (): Promise<void> => {
    const word = `check ${randomUUID()}`;
    const late = new AbortController();
    const limit = sleep(checkSeconds * 1000, undefined, { signal: late.signal, ref: false }).then((): never => {
      throw new SandboxError('failed', `A port of a box gave no answer in ${checkSeconds} s.`);
    });
    const answer = new Promise<void>((resolve) => repeated.set(word, resolve));
    client.stdin.write(toFrame(0, Buffer.from(word)));
    try {
      await Promise.race([answer, broken, limit]);
    } finally {
      repeated.delete(word);
      limit.catch(() => undefined);
      late.abort();
    }
  };
  const timer = setTimeout(close, startSeconds * 1000);
  try {
    return { port: await Promise.race([started, broken]), broken, check, close };
  } catch (error) {
    close();
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

const headBytes = 8;
/** Forwarders send much shorter frames. A program in the box that writes longer ones has taken the place of a forwarder. */
const mostFrameBytes = 2 ** 20;

function toFrame(id: number, bytes: Buffer): Buffer {
  const head = Buffer.alloc(headBytes);
  head.writeUInt32BE(id, 0);
  head.writeUInt32BE(bytes.length, 4);
  return Buffer.concat([head, bytes]);
}

function readFrames(client: BoxClient, onFrame: (id: number, bytes: Buffer) => void): void {
  let parts: Buffer[] = [];
  let held = 0;
  let wanted = headBytes;
  client.stdout.on('data', (chunk: Buffer) => {
    parts.push(chunk);
    held += chunk.length;
    if (held < wanted) return;
    let rest = Buffer.concat(parts);
    for (wanted = headBytes; rest.length >= headBytes; wanted = headBytes) {
      wanted = headBytes + rest.readUInt32BE(4);
      if (wanted > headBytes + mostFrameBytes) return void client.kill('SIGKILL');
      if (rest.length < wanted) break;
      onFrame(rest.readUInt32BE(0), rest.subarray(headBytes, wanted));
      rest = rest.subarray(wanted);
    }
    parts = [rest];
    held = rest.length;
  });
}

/** One connection. What is written to it becomes frames. */
class FramedStream extends Duplex {
  readonly #id: number;
  readonly #out: Writable;
  readonly #onRead: () => void;
  #hasSentLast = false;

  constructor(id: number, out: Writable, onRead: () => void) {
    super({ allowHalfOpen: true });
    this.#id = id;
    this.#out = out;
    this.#onRead = onRead;
  }

  /** Frames are pushed as they arrive, unless too much is unread. */
  override _read(): void {
    this.#onRead();
  }

  override _write(chunk: Buffer, _encoding: string, done: (error?: Error | null) => void): void {
    if (chunk.length === 0) done();
    else this.#send(chunk, done);
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#send(Buffer.alloc(0), done);
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    if (!this.#hasSentLast) this.#send(Buffer.alloc(0), () => undefined);
    done(error);
  }

  #send(bytes: Buffer, done: (error?: Error | null) => void): void {
    this.#hasSentLast ||= bytes.length === 0;
    this.#out.write(toFrame(this.#id, bytes), (error) => done(error ?? null));
  }
}
