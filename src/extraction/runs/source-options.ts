// The settings of extraction that a registered source may have of its own, checked by the same rules as the server's.
import type { OptionSpec, OptionValues } from '../../core/index.ts';
import { extractionOptions } from '../options.ts';

const { fields } = extractionOptions;

const own = {
  types: fields.types,
  workers: fields.workers,
  queueSize: fields.queueSize,
  batchSize: fields.batchSize,
  rateLimitPerMinute: fields.rateLimitPerMinute,
  rateLimitPerSecond: fields.rateLimitPerSecond,
  adaptive: fields.adaptive,
  maxCalls: fields.maxCalls,
  retries: fields.retries,
  retryDelayMs: fields.retryDelayMs,
  folders: fields.folders,
  recursive: fields.recursive,
  timeoutSeconds: fields.timeoutSeconds,
};

export type SourceOptions = Partial<OptionValues<typeof own>>;
type ExtractionValues = OptionValues<typeof fields>;

/** `options.workers: 99 must be a whole number from 1 to 50`; empty when all is well. */
export function optionProblems(options: SourceOptions, server: ExtractionValues): readonly string[] {
  const ranges = Object.entries(options).flatMap(([field, value]) => {
    const spec: OptionSpec<unknown> = own[field as keyof typeof own];
    const parsed = value === null ? { value } : spec.parse(value);
    return 'problem' in parsed ? [line(field, value, parsed.problem)] : [];
  });
  if (ranges.length > 0) return ranges;
  const values = effectiveOptions(options, server);
  const given: Readonly<Record<string, unknown>> = values;
  const between = extractionOptions.check?.(values) ?? [];
  return between.map(({ field, problem }) => line(field, given[field], problem));
}

/** The server's settings with the source's own instead. What to read is only ever the source's own. */
export function effectiveOptions(options: SourceOptions, server: ExtractionValues): ExtractionValues {
  return {
    ...server,
    types: [],
    folders: [],
    recursive: false,
    // It hangs on the number of workers, which the source may change.
    queueSize: options.workers === undefined ? server.queueSize : null,
    ...options,
    dryRun: false,
    retryFailed: false,
  };
}

/** As it is called in JSON and YAML. */
export const snakeName = (field: string): string =>
  field.replaceAll(/[A-Z]/g, (capital) => `_${capital.toLowerCase()}`);

function line(field: string, value: unknown, problem: string): string {
  return `options.${snakeName(field)}: ${JSON.stringify(value)} ${problem}`;
}
