import { BrokenPromise } from './broken-promise.js';
import { features, type AdapterDriver, type DriverAnswer } from './driver.js';

/**
 * Throws a readable error for a driver that the suite cannot use. Drivers that are written without types need this
 * check.
 */
export function checkDriver<M, H>(driver: AdapterDriver<M, H>): void {
  for (const name of ['asModel', 'begin', 'addQuestion', 'addToolResults', 'call'] as const)
    expectFunction(driver, name);
  const { says, name }: { readonly says: unknown; readonly name: unknown } = driver;
  if (typeof name !== 'string' || name === '')
    throw new TypeError('The driver has no name. Give it the name of its framework.');
  if (!Array.isArray(says))
    throw new TypeError(
      `The driver's property "says" is ${String(says)}; it must list the features of the framework: ${features.join(', ')}.`,
    );
  const unknown = says
    .map((feature: unknown) => (typeof feature === 'string' ? feature : JSON.stringify(feature)))
    .find((feature) => !(features as readonly string[]).includes(feature));
  if (unknown !== undefined)
    throw new TypeError(
      `The driver says "${unknown}", which is not a feature of the suite. Use ${features.join(', ')}.`,
    );
  if (driver.says.includes('stream')) expectFunction(driver, 'stream');
}

function expectFunction<M, H>(
  driver: AdapterDriver<M, H>,
  name: 'asModel' | 'begin' | 'addQuestion' | 'addToolResults' | 'call' | 'stream',
): void {
  if (typeof driver[name] !== 'function')
    throw new TypeError(`The driver has no function ${name}${name === 'stream' ? ', although it says "stream"' : ''}.`);
}

/** Returns the answer unchanged. Throws BrokenPromise if the driver's function left out a part of it. */
export function checkAnswer<H>(name: 'call' | 'stream', answer: DriverAnswer<H>): DriverAnswer<H> {
  const {
    history,
    text,
    toolCalls,
  }: { readonly history?: unknown; readonly text?: unknown; readonly toolCalls?: unknown } = answer ?? {};
  const isWhole = history !== undefined && typeof text === 'string' && Array.isArray(toolCalls);
  if (!isWhole)
    throw new BrokenPromise(
      `The driver's ${name} resolved with ${JSON.stringify(answer)?.slice(0, 200) ?? 'nothing'}; it must be { history, text, toolCalls }.`,
    );
  return answer;
}

/** Returns the model unchanged. Throws BrokenPromise if it is a promise. */
export function requireSyncModel<M>(model: M): M {
  if (!(model instanceof Promise)) return model;
  model.catch(() => {});
  throw new BrokenPromise('asModel returned a promise; it must return the model itself.');
}
