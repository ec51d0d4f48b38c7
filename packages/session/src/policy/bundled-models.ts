import type { BundledModel } from '@agentjet/core';
import { microModelDir } from '@agentjet/micro';
import { nanoModelDir } from '@agentjet/nano';

/** Where the models are that come along. */
export const bundledModelDirs: { readonly [name in BundledModel]: string } = {
  nano: nanoModelDir,
  micro: microModelDir,
};
