import { snakeKeys } from '@agentjet/core';
import { nextTurn, type StoreEntry, type LedgerRecord } from '@agentjet/ledger';
import { describeTraining } from '../swarm/describe-policies.js';
import type { Swarm } from '../swarm/swarm.js';
import { requireStillValid, type StoredKey } from './keys.js';

/**
 * The records that clients see. Calls are left out because there are too many. Tasks and keys are left out because not
 * every reader may see them.
 */
const told: ReadonlySet<LedgerRecord['kind']> = new Set([
  'group',
  'claim',
  'end',
  'score',
  'drop',
  'give_up',
  'group_dropped',
  'manifest',
  'outcome',
  'evaluation',
  'checkpoint',
  'rewound',
  'incarnation',
  'operation',
  'config',
]);

const heartbeatMs = 15_000;

/** Old events are sent in parts, so that other requests are answered in between. A part takes at most this long. */
const partMs = 5;

/** Lets one stream read one part in a turn of the event loop, however many streams there are. */
export class ReadTurns {
  #last: Promise<unknown> = Promise.resolve();

  take<Part>(read: () => Part): Promise<Part> {
    const part = this.#last.then(nextTurn).then(read);
    this.#last = part.catch(() => undefined); // the stream gets the error
    return part;
  }
}

/** A client that reads so slowly that more than this waits for it is disconnected. It can continue with `last-event-id`. */
const mostWaiting = 16 * 2 ** 20;

/**
 * Sends commits as server-sent events. An event's id is the number of its record. A client that sends the id of its
 * last event gets all later events that are in files which still exist. A client that sends no id gets only new events.
 * An event without an id says whether the policies train, at the beginning and after each change.
 */
export function respondEvents(swarm: Swarm, options: EventOptions): Response {
  const stream = new EventStream(swarm, options);
  const strategy = new ByteLengthQueuingStrategy({ highWaterMark: 64 * 1024 });
  const headers = {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache',
    'x-accel-buffering': 'no',
  };
  return new Response(new ReadableStream(stream, strategy), { headers });
}

type EventOptions = {
  readonly lastEventId: string | undefined;
  readonly turns: ReadTurns;
  /** The stream ends when this key is deleted or expires. */
  readonly key: StoredKey | undefined;
};

/** Sends the old events as fast as the client reads them, and then each new one. */
class EventStream {
  readonly #swarm: Swarm;
  readonly #encoder = new TextEncoder();
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  /** The number of the last record that was read, whether it was sent or not. */
  #seen: number;
  #isLive: boolean;
  /** The file that is read. Earlier files were read to their end, and opening them again takes time. */
  #file = -1;
  #stop = (): void => {};
  readonly #turns: ReadTurns;

  readonly #key: StoredKey | undefined;

  constructor(swarm: Swarm, { lastEventId, turns, key }: EventOptions) {
    this.#swarm = swarm;
    this.#turns = turns;
    this.#key = key;
    const from = lastEventId === undefined || !/^\d+$/.test(lastEventId) ? undefined : Number(lastEventId);
    this.#seen = from ?? -1;
    this.#isLive = from === undefined;
  }

  start(controller: ReadableStreamDefaultController<Uint8Array>): void {
    this.#controller = controller;
    const tellTraining = watchTraining(this.#swarm, (text) => this.#write(text));
    this.#write(': connected\n\n');
    tellTraining();
    const beat = setInterval(() => this.#write(': keep-alive\n\n'), heartbeatMs).unref();
    const leave = this.#swarm.listen({
      onEntries: (entries) => {
        if (this.#isLive) this.#write(entries.map((entry) => this.#take(entry)).join(''));
      },
      onTick: () => {
        if (this.#isAllowed()) tellTraining();
        else this.#close();
      },
      onClose: () => this.#close(),
    });
    this.#stop = () => {
      this.#stop = () => {};
      this.#controller = undefined;
      clearInterval(beat);
      leave();
    };
  }

  /** Is called while the client has room. Sends the next part of the old events. */
  async pull(): Promise<void> {
    while (!this.#isLive && this.#controller !== undefined && (this.#controller.desiredSize ?? 0) > 0) {
      await this.#turns.take(() => {
        const { text, isLast } = this.#readPart();
        this.#isLive = isLast; // nothing is committed between the read and this line, so the listener misses no event
        this.#write(text);
      });
    }
  }

  cancel(): void {
    this.#stop();
  }

  #readPart(): { readonly text: string; readonly isLast: boolean } {
    const { store } = this.#swarm.context;
    const endsAt = performance.now() + partMs;
    let text = '';
    for (const { number } of store.files()) {
      if (number < this.#file) continue;
      if (performance.now() > endsAt) return { text, isLast: false }; // a file that is at rest must be opened first
      this.#file = number;
      for (const entry of store.read(number, 'events', this.#seen)) {
        text += this.#take(entry);
        if (performance.now() > endsAt) return { text, isLast: false };
      }
    }
    return { text, isLast: true };
  }

  /** Returns the event of an entry. Returns nothing if the entry was taken before, or is not for clients. */
  #take(entry: StoreEntry): string {
    if (entry.sequence <= this.#seen) return '';
    this.#seen = entry.sequence;
    return told.has(entry.record.kind) ? toEvent(entry) : '';
  }

  #write(text: string): void {
    if (this.#controller === undefined || text === '') return;
    this.#controller.enqueue(this.#encoder.encode(text));
    if ((this.#controller.desiredSize ?? 0) < -mostWaiting) this.#close();
  }

  #isAllowed(): boolean {
    try {
      requireStillValid(this.#swarm.context.ledger.state, this.#key);
      return true;
    } catch {
      return false;
    }
  }

  #close(): void {
    const controller = this.#controller;
    this.#stop();
    controller?.close();
  }
}

/** Returns a function that writes an event for each policy whose training state has changed since the last call. */
function watchTraining({ context }: Swarm, write: (text: string) => void): () => void {
  const told = new Map<string | undefined, string>();
  return () => {
    for (const event of describeTraining(context)) {
      const data = JSON.stringify(event);
      if (told.get(event.policy) !== data) write(`event: training\ndata: ${data}\n\n`);
      told.set(event.policy, data);
    }
  };
}

function toEvent({ sequence, record }: StoreEntry): string {
  const { kind, ...said } = record;
  const { content: _content, bytes: _bytes, ...shown } = said as Readonly<Record<string, unknown>>;
  return `id: ${sequence}\nevent: ${kind}\ndata: ${JSON.stringify(snakeKeys(shown))}\n\n`;
}
