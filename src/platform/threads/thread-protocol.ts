// What a pool and its threads say to each other. Everything here is cloned or transferred.

/** What a thread module offers: functions of one argument that can be cloned. */
// oxlint-disable-next-line typescript/no-explicit-any -- each function has its own argument; `run` types it per name
export type ThreadFunctions = Readonly<Record<string, (input: any) => unknown>>;

export interface ThreadCall {
  readonly name: string;
  readonly input: unknown;
}

export type FromThread =
  | { readonly kind: 'ready' }
  | { readonly kind: 'returned'; readonly value: unknown }
  | { readonly kind: 'threw'; readonly name: string; readonly message: string };
