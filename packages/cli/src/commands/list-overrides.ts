/** `--backbone=name` is a short form of the override `backbone=name`. It comes last. */
export function listOverrides(flags: { readonly backbone?: string }, overrides: readonly string[]): readonly string[] {
  return flags.backbone === undefined ? overrides : [...overrides, `backbone=${flags.backbone}`];
}
