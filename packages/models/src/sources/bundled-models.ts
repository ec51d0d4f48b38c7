import type { BundledModel } from '@agentjet/core';
import { microModelDir } from '@agentjet/micro';
import { nanoModelDir } from '@agentjet/nano';

/** The folder of the included models. */
export const bundledModelDirs: { readonly [name in BundledModel]: string } = {
  nano: nanoModelDir,
  micro: microModelDir,
};
