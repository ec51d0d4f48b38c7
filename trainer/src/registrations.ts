import { grpo } from './algorithms/grpo/registration.js';
import { maxrl } from './algorithms/maxrl/registration.js';
import { reinforce } from './algorithms/reinforce/registration.js';
import { sft } from './algorithms/sft/registration.js';
import { onnx } from './backbones/embedded/registration.js';
import { tinker } from './backbones/tinker/registration.js';
import { torch } from './backbones/torch/registration.js';
import { verl } from './backbones/verl/registration.js';

/** Every algorithm and backbone of this package. What trains is loaded when one is opened; the first of a list is the default. */

/** Entries of `algorithms` too: names for an algorithm together with its settings. */
export { presets } from './algorithms/presets.js';

export const algorithms = [grpo, reinforce, maxrl, sft] as const;
export const backbones = [onnx, torch, tinker, verl] as const;
