// What an adapter must provide: sessions that run one command at a time. Everything above them is shared.

/** `query` is one statement with parameters; `script` any number of statements without. */
export type Command =
  | {
      readonly kind: 'query';
      readonly text: string;
      readonly values: readonly (string | null)[];
      readonly isFrequent: boolean;
    }
  | { readonly kind: 'script'; readonly text: string };

export interface CommandResult {
  /** Of all statements together, as `affected`. */
  readonly rows: readonly object[];
  readonly affected: number;
  /** The last statement's command tag: SELECT, COMMIT, … */
  readonly tag: string;
}

export interface Session {
  /** Fails with a SqlError (the statement is wrong) or a CoreError (the store is away). */
  run(command: Command): Promise<CommandResult>;
  /** Is a transaction block open? Of no interest once the session is lost. */
  readonly inTransaction: boolean;
  /** Asks the store to stop the running command, if it can. Never fails. */
  cancel(): Promise<void>;
  /** Gives the session back; `isSpoilt` when nobody knows what state it is in. Never fails. */
  release(isSpoilt: boolean): Promise<void>;
}

export interface Store {
  /** How many sessions there are at once. */
  readonly size: number;
  /** Fails with STATE_UNAVAILABLE when the store is away. */
  open(): Promise<Session>;
  /** Makes the store send the channel's notifications from now on; `run` runs a command as any caller would. */
  subscribe(channel: string, run: (command: Command) => Promise<unknown>): Promise<void>;
  unsubscribe(channel: string, run: (command: Command) => Promise<unknown>): Promise<void>;
  /** Called when every session has been given back. */
  close(): Promise<void>;
}
