/**
 * The part of the WebAssembly API that is used here. Node's types do not declare it, because the types of the DOM do.
 */

export type WasmMemory = { readonly buffer: ArrayBuffer };

type WebAssemblyApi = {
  readonly Memory: new (limits: { readonly initial: number; readonly maximum: number }) => WasmMemory;
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object, imports: object) => { readonly exports: unknown };
  readonly validate: (bytes: Uint8Array) => boolean;
};

export const webAssembly = (globalThis as unknown as { readonly WebAssembly: WebAssemblyApi }).WebAssembly;
