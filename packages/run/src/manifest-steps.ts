/**
 * Returns the optimizer steps of a manifest. Each group of the batch belongs to one optimizer step. Groups that are not
 * trained belong to the first optimizer step, and its outcome closes them in the ledger.
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
