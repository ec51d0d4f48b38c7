/**
 * The items of `source`, of which up to `count` are pulled before they are asked for, one after the other. With 0
 * nothing is pulled early: item j + 1 is begun when the consumer is done with item j. With n, when it is done with
 * item j - n.
 *
 * An error of the source comes out in its place, behind the items before it. When the consumer leaves, `onLeave` is
 * called, so that the source can cut short what it is making; then the source is ended, and waited for.
 */
export async function* pullAhead<T>(source: AsyncIterable<T>, count: number, onLeave?: () => void): AsyncGenerator<T> {
  const iterator = source[Symbol.asyncIterator]();
  const pending: Promise<IteratorResult<T>>[] = [];
  let hasLeft = false;
  const pullAfter = async (before: Promise<IteratorResult<T>> | undefined): Promise<IteratorResult<T>> => {
    if (hasLeft || (await before)?.done === true) return { done: true, value: undefined };
    return hasLeft ? { done: true, value: undefined } : iterator.next();
  };
  try {
    for (;;) {
      while (pending.length <= count) pending.push(handled(pullAfter(pending.at(-1))));
      const item = await pending.shift();
      if (item === undefined || item.done === true) return;
      yield item.value;
    }
  } finally {
    hasLeft = true;
    onLeave?.();
    await Promise.allSettled(pending);
    await iterator.return?.();
  }
}

/** Nobody may be waiting yet when it rejects. */
function handled<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}
