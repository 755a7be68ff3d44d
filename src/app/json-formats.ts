// How a model is asked for JSON: with a schema, else for any JSON object, else in words alone. Providers differ in what
// they take as `response_format`; what was refused is remembered for a while and not sent again with every chunk.
import type { Clock } from '../core/index.ts';
import { GatewayError } from '../gateway/index.ts';

export type JsonFormat = 'schema' | 'object' | 'words';

const formats: readonly JsonFormat[] = ['schema', 'object', 'words'];

/** Models are added and providers learn: then the better format is tried again. */
const rememberMs = 600_000;

export class JsonFormats {
  readonly #clock: Clock;
  /** By what was asked for as `model`: the gateway chooses who answers, and sends all of them the same. */
  readonly #taken = new Map<string, { readonly format: JsonFormat; readonly until: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Asks in the best format that was not refused lately, then in the next. Fails as `speak` does otherwise. */
  async ask<T>(model: string, best: JsonFormat, complete: (format: JsonFormat) => Promise<T>): Promise<T> {
    const known = this.#taken.get(model);
    const first = known && known.until > this.#clock.monotonic() ? worse(known.format, best) : best;
    for (let format = first; ;) {
      try {
        const answer = await complete(format);
        if (format !== first) this.#remember(model, format);
        return answer;
      } catch (error) {
        const next = nextFormat(format, error);
        if (next === null) throw error;
        format = next;
      }
    }
  }

  #remember(model: string, format: JsonFormat): void {
    if (this.#taken.size >= mostModels) this.#taken.clear();
    this.#taken.set(model, { format, until: this.#clock.monotonic() + rememberMs });
  }
}

const mostModels = 1_000;

const worse = (a: JsonFormat, b: JsonFormat): JsonFormat => (formats.indexOf(a) > formats.indexOf(b) ? a : b);

/** Null when the format is not what is at fault, or there is no other. */
function nextFormat(format: JsonFormat, error: unknown): JsonFormat | null {
  if (format === 'words' || !(error instanceof GatewayError)) return null;
  const { missing, failureClass } = error.details;
  // Nobody has a JSON mode of any kind. Whoever asks for JSON reads it leniently.
  if (error.code === 'GATEWAY_CAPABILITY_UNSUPPORTED' && Array.isArray(missing) && missing.includes('json'))
    return 'words';
  const isRefused = error.code === 'GATEWAY_REQUEST_REJECTED' && failureClass === 'validation';
  return isRefused ? (formats[formats.indexOf(format) + 1] ?? null) : null;
}
