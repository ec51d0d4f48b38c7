import { existsSync } from 'node:fs';
import { configuration } from 'agentjet';
import { describe, expect, it } from 'vitest';
import { backbones, inScratchFolder, python } from '../parity/question.js';
import { gradientError, settings } from './gradients.js';

/**
 * Only every sixteenth weight is checked. This takes a second, and is enough to notice if the wrong tokens were kept.
 */
const stride = 16;

const chosen = settings.filter(({ name }) =>
  ['top_p 0.5, temperature 0.7', 'top_p 0.9, two passes', 'top_p 0.5, KL', 'top_k 2, entropy'].includes(name),
);

describe('gradients of truncated sampling equal those of a reference in double precision', () => {
  it.each(chosen)('onnx, $name', async (setting) => {
    const error = await inScratchFolder((dir) => gradientError(backbones.onnx, setting, dir, { stride }));
    expect(error).toBeLessThan(1e-4);
  });

  it('a loss that takes the whole vocabulary is far from it', async () => {
    const [setting] = chosen;
    if (setting === undefined) throw new Error('no setting');
    const whole = { ...setting, topP: 1, topK: 0 };
    await expect(
      inScratchFolder((dir) => gradientError(backbones.onnx, setting, dir, { stride, trainedAs: whole })),
    ).resolves.toBeGreaterThan(0.1);
  });

  it.skipIf(!existsSync(python) || isRefused('torch')).each(chosen)('torch, $name', async (setting) => {
    const error = await inScratchFolder((dir) => gradientError(backbones.torch, setting, dir, { stride }));
    expect(error).toBeLessThan(1e-4);
  });
});

function isRefused(backbone: 'torch'): boolean {
  try {
    configuration.create({ backbone, rollout: { topP: 0.5 } });
    return false;
  } catch {
    return true;
  }
}
