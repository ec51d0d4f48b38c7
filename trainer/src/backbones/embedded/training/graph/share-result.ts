/**
 * Builds a value at the first call and returns the same value at later calls, for several pullbacks of one rule. All
 * pullbacks of a rule get the same output gradient, so the value of the first call is valid for all.
 */
export function shareResult<Arguments extends readonly unknown[], Result>(
  build: (...given: Arguments) => Result,
): (...given: Arguments) => Result {
  let built: { readonly result: Result } | undefined;
  return (...given) => (built ??= { result: build(...given) }).result;
}
