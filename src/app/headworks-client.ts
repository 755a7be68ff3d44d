// What a command needs of a Headworks server, wherever it runs: over HTTP, always.

export interface CallOptions {
  readonly query?: Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;
  readonly body?: unknown;
  readonly signal?: AbortSignal;
}

export interface StreamedEvent {
  readonly id: string;
  readonly name: string;
  readonly data: Readonly<Record<string, unknown>>;
}

export interface StreamedAnswer {
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly data: AsyncIterable<string>;
}

export interface HeadworksClient {
  /** Where the server listens, for people to open. */
  readonly url: string;
  /** True when no server was running and this process became one for the time being. */
  readonly isOwnServer: boolean;
  /** The parsed JSON answer. An error answer is thrown as the HeadworksError it describes (code, message, details). */
  call<T>(
    method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
    path: string,
    options?: CallOptions,
  ): Promise<T>;
  /** Posts, and reads the answer as it comes: its headers, and the data of its server-sent events. */
  stream(path: string, body: unknown, signal: AbortSignal): Promise<StreamedAnswer>;
  /** Posts, and gives the bytes of the answer as they come. */
  download(path: string, body: unknown, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>>;
  /** The live stream (`/api/v1/events`), reconnecting by itself, until the signal aborts. */
  events(signal: AbortSignal): AsyncIterable<StreamedEvent>;
  /** Detaches. If this process is the server, it stays until nobody else is attached, then stops. */
  close(): Promise<void>;
}
