/** `--backbone=name` is short for the override `backbone=name`; it goes last. */
export function listOverrides(flags: { readonly backbone?: string }, overrides: readonly string[]): readonly string[] {
  return flags.backbone === undefined ? overrides : [...overrides, `backbone=${flags.backbone}`];
}
