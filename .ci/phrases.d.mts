export declare function sentencesOf(text: string): readonly string[];
export declare function bannedIn(sentence: string): readonly { readonly phrase: string; readonly around: string }[];
