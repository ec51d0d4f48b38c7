import { BackboneError, type Algorithm, type Backbone, type LossOptions, type SlopeLoss } from '@agentjet/core';
import { isComputed, toTrainedLoss } from '../losses/to-trained-loss.js';

/** The configured loss, and the algorithm and the backbone that may replace it. */
type Loss = { readonly algorithm: Algorithm; readonly backbone: Backbone; readonly loss: LossOptions };

/**
 * Returns the algorithm's own loss if it has one, and the configured loss otherwise. An objective or a correction that
 * the backbone does not compute itself is converted to a slope.
 */
export function chooseLoss({ algorithm, loss, backbone }: Loss): LossOptions | SlopeLoss {
  if (algorithm.slope === undefined) return toTrainedLoss(loss, backbone.capabilities);
  const { temperature = 1 } = loss;
  const truncation = loss.kind === 'policy' ? loss.truncation : undefined;
  return {
    kind: 'slope',
    slope: (terms) => algorithm.slope?.(terms) ?? [],
    temperature,
    ...(truncation && { truncation }),
  };
}

/**
 * Throws BackboneError `unsupported_loss` if the backbone cannot train a part of the loss, or if the algorithm's own
 * loss does not use a configured term. The message names the part or term.
 */
export function checkLoss({ algorithm, backbone, loss }: Loss): void {
  const wanted = algorithm.slope === undefined ? featuresOf(loss, backbone) : (['slope'] as const);
  const missing = wanted.find((feature) => !backbone.capabilities.losses.includes(feature));
  if (missing !== undefined)
    throw new BackboneError(
      'unsupported_loss',
      `The loss needs "${missing}", but this backbone trains only ${backbone.capabilities.losses.join(', ')}. Choose another loss or another backbone.`,
    );
  if (loss.kind === 'policy' && loss.truncation !== undefined && backbone.capabilities.trainsTruncation !== true)
    throw new BackboneError(
      'unsupported_loss',
      `Tokens are sampled with top_p ${loss.truncation.topP} and top_k ${loss.truncation.topK || -1}, but this backbone can train only the whole distribution. Sample with rollout.top_p 1 and rollout.top_k -1, or choose another backbone.`,
    );
  const [unused] =
    algorithm.slope === undefined
      ? []
      : featuresOf(loss, backbone).filter((feature) => feature !== 'policy' && feature !== 'slope');
  if (algorithm.slope !== undefined && loss.kind === 'policy' && !isComputed(loss, plainPpo))
    throw new BackboneError(
      'unsupported_loss',
      `The algorithm "${algorithm.name}" has its own loss, so the objective and the importance correction of the configured loss would have no effect. Set trainer_common.loss_mode to ppo, and turn the correction off.`,
    );
  if (unused === 'kl' || unused === 'entropy')
    throw new BackboneError(
      'unsupported_loss',
      `The algorithm "${algorithm.name}" has its own loss, so the "${unused}" term of the configured loss would have no effect. Set its coefficient to 0.`,
    );
}

const plainPpo: Pick<Backbone['capabilities'], 'objectives' | 'truncatesImportance'> = {};

function featuresOf(
  loss: LossOptions,
  { capabilities }: Backbone,
): readonly Backbone['capabilities']['losses'][number][] {
  if (loss.kind === 'sft') return ['sft'];
  return [
    isComputed(loss, capabilities) ? 'policy' : 'slope',
    ...(loss.klCoef === 0 ? [] : (['kl'] as const)),
    ...(loss.entropyCoef === 0 ? [] : (['entropy'] as const)),
  ];
}
