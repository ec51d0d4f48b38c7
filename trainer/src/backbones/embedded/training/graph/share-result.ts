/**
 * Builds a value that several pullbacks of one rule need at the first call, and shares it. A rule's pullbacks all get
 * the same output gradient, so the first argument is valid for all.
 */
export function shareResult<Arguments extends readonly unknown[], Result>(
  build: (...given: Arguments) => Result,
): (...given: Arguments) => Result {
  let built: { readonly result: Result } | undefined;
  return (...given) => (built ??= { result: build(...given) }).result;
}
