import { snakeKeys } from '@agentjet/core';
import type { StoreEntry, LedgerRecord } from '@agentjet/ledger';
import { describeTraining } from '../swarm/describe-policies.js';
import type { Swarm } from '../swarm/swarm.js';

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

/**
 * Sends commits as server-sent events. An event's id is the number of its record. A client that sends the id of its
 * last event gets all later events that are in files which still exist. A client that sends no id gets only new events.
 * An event without an id says whether the policies train, at the beginning and after each change.
 */
export function respondEvents(swarm: Swarm, lastEventId: string | undefined): Response {
  const encoder = new TextEncoder();
  let stop = (): void => {};
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      const write = (text: string): void => controller.enqueue(encoder.encode(text));
      let sent = lastEventId === undefined || !/^\d+$/.test(lastEventId) ? -1 : Number(lastEventId);
      const send = (entry: StoreEntry): void => {
        if (entry.sequence <= sent || !told.has(entry.record.kind)) return;
        sent = entry.sequence;
        write(toEvent(entry));
      };
      if (sent >= 0) for (const entry of eventsAfter(swarm, sent)) send(entry);
      const tellTraining = watchTraining(swarm, write);
      write(': connected\n\n');
      tellTraining();
      const beat = setInterval(() => write(': keep-alive\n\n'), heartbeatMs).unref();
      const leave = swarm.listen({
        onEntries: (entries) => entries.forEach(send),
        onTick: tellTraining,
        onClose: () => {
          stop();
          controller.close();
        },
      });
      stop = () => {
        clearInterval(beat);
        leave();
      };
    },
    cancel: () => stop(),
  });
  const headers = {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache',
    'x-accel-buffering': 'no',
  };
  return new Response(body, { headers });
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

function eventsAfter({ context: { store } }: Swarm, sequence: number): readonly StoreEntry[] {
  const entries = store.files().flatMap(({ number }) => [...store.read(number, 'events')]);
  return entries.filter((entry) => entry.sequence > sequence).sort((a, b) => a.sequence - b.sequence);
}

function toEvent({ sequence, record }: StoreEntry): string {
  const { kind, ...said } = record;
  const { content: _content, bytes: _bytes, ...shown } = said as Readonly<Record<string, unknown>>;
  return `id: ${sequence}\nevent: ${kind}\ndata: ${JSON.stringify(snakeKeys(shown))}\n\n`;
}
