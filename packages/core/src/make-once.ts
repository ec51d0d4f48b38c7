/** Makes a value when it is first asked for. Later calls return the same value. */
export function makeOnce<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => (made ??= { value: make() }).value;
}
