import { isJsonObject, kinds, nameGivenInCode } from '@agentjet/core';
import type { GivenInputs } from '@agentjet/inputs';

/** Inputs that code passed to a job. */
export type Given = { -readonly [Key in keyof GivenInputs]?: GivenInputs[Key] };

/** The option that holds each object from code, and its kind. */
export const kindOptions = [
  ['backbone', 'backbones'],
  ['algorithm', 'algorithms'],
  ['reader', 'readers'],
  ['judge', 'judges'],
  ['environment', 'environments'],
] as const;

export const givenBy: Readonly<Record<keyof Given, string>> = {
  workflow: 'setWorkflow()',
  reader: 'setData()',
  judge: 'setJudge()',
  environment: 'setEnvironment()',
  backbone: 'the option backbone',
  algorithm: 'the option algorithm',
  templateFamily: 'the option templateFamily',
};

export function isRegistration(value: unknown): value is { readonly name: string; readonly open: unknown } {
  return isJsonObject(value) && typeof value['open'] === 'function' && typeof value['name'] === 'string';
}

/** Creates overrides that record values from code in place of the names from a file. */
export function nameGiven({
  backbone,
  algorithm,
  templateFamily,
  reader,
  judge,
  environment,
}: GivenInputs): readonly string[] {
  const given = {
    backbones: backbone,
    algorithms: algorithm,
    templates: templateFamily,
    readers: isRegistration(reader) ? reader : undefined,
    judges: isRegistration(judge) ? judge : undefined,
    environments: environment,
  };
  return Object.entries(given).flatMap(([kind, value]) => {
    if (typeof value !== 'object' || value === null) return [];
    const { key, noun } = kinds[kind as keyof typeof given];
    const name: unknown = Reflect.get(value, 'name');
    return [`${key}="${nameGivenInCode(typeof name === 'string' ? name : noun)}"`];
  });
}
