// The used part of html-to-text, which ships no types.
declare module 'html-to-text' {
  export interface HtmlNode {
    readonly type: string;
    readonly name?: string;
    readonly attribs?: Record<string, string>;
    readonly children?: readonly HtmlNode[];
  }
  export type Formatter = (
    element: HtmlNode,
    walk: unknown,
    builder: { readonly options: { readonly formatters: Readonly<Record<string, Formatter>> } },
    options: unknown,
  ) => void;
  export interface HtmlToTextOptions {
    readonly wordwrap?: number | false;
    readonly selectors?: readonly {
      readonly selector: string;
      readonly format?: string;
      readonly options?: Readonly<Record<string, unknown>>;
    }[];
    readonly formatters?: Readonly<Record<string, Formatter>>;
    readonly limits?: { readonly maxInputLength?: number; readonly maxDepth?: number };
  }
  export function convert(html: string, options?: HtmlToTextOptions): string;
}
