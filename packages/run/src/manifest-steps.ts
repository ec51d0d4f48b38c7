/**
 * The optimizer steps of a manifest. Every group of the batch is in one, those too of which nothing is trained: their fate falls with
 * the first one.
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
