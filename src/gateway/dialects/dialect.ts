// A dialect is one wire format between callers, gateway and providers. Bytes are passed through when caller and provider
// use the same one.
import type { CompletionRequest } from '../types.ts';

export interface Dialect {
  /** Appended to the provider's base URL. */
  readonly path: string;
  /** Fails with INPUT_INVALID, naming the field in the message and in `details.field`. */
  parseRequest(body: Uint8Array): CompletionRequest;
  /** Checks the parsed body of a 2xx response. Pure, never throws. */
  checkResponse(response: JsonObject, request: CompletionRequest): ResponseCheck;
}

export type JsonObject = Readonly<Record<string, unknown>>;

export interface ReportedUsage {
  readonly prompt: number;
  readonly completion: number;
}

export type ResponseCheck =
  | { readonly state: 'valid'; readonly usage: ReportedUsage | undefined; readonly characters: number }
  | { readonly state: 'invalid'; readonly failureClass: 'invalid-response' | 'content-refused' }
  /** An error in place of a response: its JSON, to be classified. */
  | { readonly state: 'error'; readonly body: string };
