/**
 * Lists of `size` items; the last one may be shorter. Pulls no item before its list is asked for, so a source that
 * works on demand never works ahead of the weights. Ends the source when it is ended itself.
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
