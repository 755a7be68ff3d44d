// What MCP needs of the rest of the house: the HTTP API, with the credentials of whoever asks.
import type { Log } from '../core/index.ts';

export interface ApiCallOptions {
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  readonly body?: unknown;
  readonly signal?: AbortSignal;
}

/**
 * The HTTP API of a Headworks server. Access, tenants, validation and audit are decided there and nowhere else: what
 * these credentials do not reach cannot be reached by a tool.
 */
export interface HeadworksApi {
  /** The parsed answer. An error answer is thrown as the HeadworksError it describes. */
  call(method: 'GET' | 'POST', path: string, options?: ApiCallOptions): Promise<unknown>;
}

/** Whose credentials they are: decides which tools there are, never what they reach. */
export type CallerKind = 'admin' | 'organization';

/** One conversation: who speaks, and with whom. */
export interface McpDeps {
  readonly api: HeadworksApi;
  readonly caller: CallerKind;
  readonly version: string;
  /** Told of what should not happen; the caller hears only that it did. */
  readonly log: Pick<Log, 'error'>;
}
