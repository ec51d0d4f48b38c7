import { type JsonObject, parseJsonObject } from '@agentjet/core';
import { z } from 'zod';

/** Some APIs have the arguments of a call as an object. Text that is not a JSON object becomes the value of `_raw`. */

const rawArguments = z.strictObject({ _raw: z.string() });

/** Parses the arguments that the model wrote. If they are not an object, the tool then reports the mistake. */
export function toArgumentObject(text: string): JsonObject {
  return parseJsonObject(text) ?? { _raw: text };
}

/** Reverses `toArgumentObject`. */
export function readArguments(given: unknown): string {
  const raw = rawArguments.safeParse(given);
  return raw.success ? raw.data._raw : JSON.stringify(given ?? {});
}
