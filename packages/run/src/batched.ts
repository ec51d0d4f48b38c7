/**
 * Yields lists of `size` items. The last list may be shorter. No item is taken from the source before its list is
 * requested, so a source that samples on demand always samples from the newest weights. If the caller leaves this
 * generator early, the source is also left.
 */
export async function* batched<T>(source: AsyncIterable<T>, size: number): AsyncGenerator<T[]> {
  let batch: T[] = [];
  for await (const item of source) {
    batch.push(item);
    if (batch.length < size) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}
