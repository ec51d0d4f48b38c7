/** Names that `model.path` takes for models that come along, each in its own package. */
const bundledModels = ['nano', 'micro'] as const;
export type BundledModel = (typeof bundledModels)[number];

export function isBundledModel(name: string): name is BundledModel {
  return bundledModels.some((each) => each === name);
}
