// A chat completion as domains request it: the gateway serves it, knowledge and workflows use it.
export interface ChatMessage {
  readonly role: 'system' | 'user' | 'assistant';
  readonly content:
    | string
    | readonly (
        | { readonly type: 'text'; readonly text: string }
        | { readonly type: 'image_url'; readonly image_url: { readonly url: string } }
      )[];
}

export interface TextRequest {
  readonly requestId: string;
  /** Billed caller: `org:ID`, or `admin`. */
  readonly caller: string;
  readonly messages: readonly ChatMessage[];
  /** Default: `auto`. */
  readonly model?: string | undefined;
  readonly temperature?: number | undefined;
  readonly maxTokens?: number | undefined;
  /** Requests one JSON object. Callers should parse leniently: not every model has a JSON mode. */
  readonly json?: boolean | undefined;
  /** With `json`: the schema to request where models support it. */
  readonly schema?: AnswerSchema | undefined;
  /** Its deadline, if it has one, is the request's. */
  readonly signal: AbortSignal;
}

/** A JSON schema in the strict form of the providers: every property is required, none is added. */
export interface AnswerSchema {
  readonly name: string;
  readonly schema: Readonly<Record<string, unknown>>;
}

/** The text of the first choice, and the name of the model that answered. */
export interface TextCompletion {
  readonly text: string;
  readonly model: string;
}
