type Passage = { readonly text: string; readonly line: number };
export declare function passagesOf(source: string, file: string): readonly Passage[];
export declare function stringsIn(source: string, file: string): readonly Passage[];
