/**
 * Makes lists of `size` items; the last one may be shorter. Pulls no item before its list is requested, so a source
 * that works on demand never works ahead of the weights. When it is ended, it ends the source.
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
