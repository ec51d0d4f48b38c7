import {
  snakeKeys,
  showValue,
  valueAtPath,
  type CommonConfig,
  type ConfigComposition,
  type JsonObject,
} from '@agentjet/core';

/** A key has no effect if another key has this value. */
type Switch = { readonly key: string; readonly isOff: (value: unknown) => boolean };

const isZero = (value: unknown): boolean => value === 0;
const isFalse = (value: unknown): boolean => value === false;

/** The keys that turn others on. */
const switches: readonly (Switch & { readonly turnsOn: readonly string[] })[] = [
  {
    key: 'trainer_common.use_kl_loss',
    isOff: isFalse,
    turnsOn: ['trainer_common.kl_loss_coef', 'trainer_common.kl_loss_type'],
  },
  {
    key: 'trainer_common.algorithm.use_kl_in_reward',
    isOff: isFalse,
    turnsOn: ['trainer_common.algorithm.kl_coef', 'trainer_common.algorithm.kl_penalty'],
  },
  {
    key: 'trainer_common.overlong_buffer.len',
    isOff: isZero,
    turnsOn: ['trainer_common.overlong_buffer.penalty_factor'],
  },
  { key: 'lora.rank', isOff: isZero, turnsOn: ['lora.alpha', 'lora.target_modules'] },
  {
    key: 'trainer_common.loss_mode',
    isOff: (mode) => mode === 'reinforce',
    turnsOn: ['trainer_common.clip_ratio_low', 'trainer_common.clip_ratio_high'],
  },
  {
    key: 'trainer_common.loss_mode',
    isOff: (mode) => mode === 'reinforce' || mode === 'cispo',
    turnsOn: ['trainer_common.clip_ratio_c'],
  },
];

/**
 * Names the settings that are not the default and have no effect: because another setting turns them off, or because
 * the backbone does not read them. They are not refused, because one file may serve several backbones and experiments.
 */
export function noticeIdleSettings(config: CommonConfig, composition: ConfigComposition): readonly string[] {
  const [own, usual] = [config, composition.create()].map((each) => snakeKeys(each as unknown as JsonObject));
  const at = (values: unknown, key: string): unknown => valueAtPath(values, key.split('.'));
  const isChanged = (key: string): boolean => JSON.stringify(at(own, key)) !== JSON.stringify(at(usual, key));
  const { ignores = [] } = composition.registrations.backbones.find(({ name }) => name === config.backbone) ?? {};
  const idle = [
    ...switches.flatMap(({ key, isOff, turnsOn }) =>
      isOff(at(own, key)) ? turnsOn.map((each) => [each, `${key} is ${showValue(key, at(own, key))}`] as const) : [],
    ),
    ...ignores.map((key) => [key, `the backbone ${config.backbone} does not read it`] as const),
  ].filter(([key]) => isChanged(key));
  if (idle.length === 0) return [];
  const shown = idle.map(([key, reason]) => `${key} ${showValue(key, at(own, key))} (${reason})`);
  return [`${idle.length === 1 ? 'This setting has' : 'These settings have'} no effect: ${shown.join(', ')}.`];
}
