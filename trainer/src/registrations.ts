import { distill } from './algorithms/distill/registration.js';
import { grpo } from './algorithms/grpo/registration.js';
import { maxrl } from './algorithms/maxrl/registration.js';
import { reinforce } from './algorithms/reinforce/registration.js';
import { sft } from './algorithms/sft/registration.js';
import { onnx } from './backbones/embedded/registration.js';
import { tinker } from './backbones/tinker/registration.js';
import { torch } from './backbones/torch/registration.js';
import { verl } from './backbones/verl/registration.js';

/**
 * Lists every algorithm and backbone of this package. Training code is loaded when an entry is opened. The first entry
 * of a list is the default.
 */

/** Presets are entries of `algorithms` too: each names an algorithm together with its settings. */
export { presets } from './algorithms/presets.js';

export const algorithms = [grpo, reinforce, maxrl, distill, sft] as const;
export const backbones = [onnx, torch, tinker, verl] as const;
