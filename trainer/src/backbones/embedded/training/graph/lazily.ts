/**
 * What several pullbacks of one rule need is built at the first call and shared: a rule's pullbacks all get the same
 * output gradient, so the first argument stands for all.
 */
export function lazily<Arguments extends readonly unknown[], Result>(
  build: (...given: Arguments) => Result,
): (...given: Arguments) => Result {
  let built: { readonly result: Result } | undefined;
  return (...given) => (built ??= { result: build(...given) }).result;
}
