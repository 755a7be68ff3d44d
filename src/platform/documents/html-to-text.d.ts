// The used part of html-to-text, which ships no types.
declare module 'html-to-text' {
  export interface HtmlToTextOptions {
    readonly wordwrap?: number | false;
    readonly selectors?: readonly {
      readonly selector: string;
      readonly format?: string;
      readonly options?: Readonly<Record<string, unknown>>;
    }[];
    readonly limits?: { readonly maxInputLength?: number; readonly maxDepth?: number };
  }
  export function convert(html: string, options?: HtmlToTextOptions): string;
}
