import { readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { BackboneError, toErrorMessage } from '@agentjet/core';
import type * as Runtime from 'onnxruntime-node';

const require = createRequire(import.meta.url);

/** Loads the native library. Throws BackboneError `no_binary`, which names the platforms that have a binary. */
export function loadRuntime(): typeof Runtime {
  try {
    return require('onnxruntime-node') as typeof Runtime;
  } catch (cause) {
    const binaries = path.join(path.dirname(require.resolve('onnxruntime-node/package.json')), 'bin');
    throw new BackboneError('no_binary', describeFailure(binaries, toErrorMessage(cause)), { cause });
  }
}

/** `binaries`: a folder with the binaries in `<version of the interface>/<platform>/<architecture>`. */
export function describeFailure(
  binaries: string,
  reason: string,
  machine: { readonly platform: string; readonly arch: string } = process,
): string {
  const here = `${machine.platform}-${machine.arch}`;
  const there = platformsOf(binaries);
  const other = 'Choose another backbone: torch, verl or tinker.';
  if (there.includes(here)) return `onnxruntime-node does not load on ${here}: ${reason} ${other}`;
  return `onnxruntime-node has no binary for ${here}. It has binaries for ${there.join(', ')}. ${other}`;
}

function platformsOf(binaries: string): readonly string[] {
  return readdirSync(binaries, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.node'))
    .map((file) => path.dirname(file).split(path.sep).slice(-2).join('-'))
    .sort();
}
