/**
 * The optimizer steps of a manifest. Every group of the batch is in one of them. Groups that are not trained are in the
 * first one, whose outcome decides about them.
 */
export function toManifestSteps(
  steps: readonly (readonly string[])[],
  groupIds: readonly string[],
): readonly (readonly string[])[] {
  const trained = new Set(steps.flat());
  const idle = groupIds.filter((groupId) => !trained.has(groupId));
  const [first = [], ...others] = steps;
  return [[...first, ...idle], ...others];
}
