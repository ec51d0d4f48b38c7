import { createRandom } from '@agentjet/core';

/**
 * A virtual clock, and random numbers from a seed. Events run one after another. All promises settle between two
 * events, so the same seed always gives the same run.
 */
export class World {
  readonly seed: number;
  readonly random: () => number;
  /** Whether faults happen. At the end of a run there are none. */
  hasFaults = true;
  now = 0;
  numEvents = 0;
  readonly #heap: Event[] = [];
  #numScheduled = 0;

  constructor(seed: number) {
    this.seed = seed;
    this.random = createRandom(seed).next;
  }

  chance(probability: number): boolean {
    return this.random() < probability;
  }

  fault(probability: number): boolean {
    return this.hasFaults && this.random() < probability;
  }

  /** Draws a time from the exponential distribution with this mean, in milliseconds. */
  about(meanMs: number): number {
    return -Math.log(1 - this.random()) * meanMs;
  }

  after(ms: number, action: () => void): () => void {
    const event: Event = { at: this.now + ms, order: this.#numScheduled++, action };
    push(this.#heap, event);
    return () => {
      event.action = undefined;
    };
  }

  async runUntil(time: number): Promise<void> {
    for (;;) {
      const next = this.#heap[0];
      if (next === undefined || next.at > time) break;
      pop(this.#heap);
      this.now = next.at;
      if (next.action === undefined) continue;
      this.numEvents++;
      next.action();
      await new Promise<void>((resolve) => setImmediate(resolve));
    }
    this.now = time;
  }
}

type Event = { readonly at: number; readonly order: number; action: (() => void) | undefined };

const isBefore = (a: Event, b: Event): boolean => a.at < b.at || (a.at === b.at && a.order < b.order);

function push(heap: Event[], event: Event): void {
  let index = heap.push(event) - 1;
  while (index > 0) {
    const up = (index - 1) >> 1;
    const parent = heap[up] as Event;
    if (!isBefore(event, parent)) break;
    heap[index] = parent;
    index = up;
  }
  heap[index] = event;
}

function pop(heap: Event[]): void {
  const last = heap.pop() as Event;
  if (heap.length === 0) return;
  let index = 0;
  for (;;) {
    let child = 2 * index + 1;
    if (child >= heap.length) break;
    if (child + 1 < heap.length && isBefore(heap[child + 1] as Event, heap[child] as Event)) child++;
    if (!isBefore(heap[child] as Event, last)) break;
    heap[index] = heap[child] as Event;
    index = child;
  }
  heap[index] = last;
}
