// The used part of recheck: its own types need the package, and only `check-regexes.ts --write` loads it.
declare module 'recheck' {
  export type Diagnostics =
    | { readonly status: 'safe' }
    | { readonly status: 'unknown'; readonly error: { readonly kind: string } }
    | {
        readonly status: 'vulnerable';
        readonly complexity: { readonly type: string };
        readonly attack: { readonly pattern: string; readonly string: string };
      };
  export function check(
    source: string,
    flags: string,
    parameters: { readonly timeout: number },
  ): Promise<Diagnostics>;
}
