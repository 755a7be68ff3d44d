// Creates, updates and deletes registered sources. All problems are reported at once, and nothing is changed then.
import { readFile } from 'node:fs/promises';
import { parse } from 'yaml';
import { z } from 'zod';
import type { Clock, IdSource } from '../../core/index.ts';
import { CoreError, HeadworksError, messageOf, parseCron } from '../../core/index.ts';
import type { SourceChange, SourceInput, ExtractionSource, SourceDraft } from '../vocabulary.ts';
import { draftOf, inputOf, optionProblems, sourceInput } from '../vocabulary.ts';
import type { ExtractionOptionValues } from '../sources/resolve-source.ts';
import { loadDescription } from '../sources/description/load.ts';
import type { RunStore, SourceStore } from './stores.ts';

export interface SourceServiceDeps {
  readonly sources: SourceStore;
  readonly runs: Pick<RunStore, 'list'>;
  readonly clock: Clock;
  readonly ids: IdSource;
  /** What is wrong with a source beyond its schema: options, schedule, definition. */
  readonly problems: (draft: SourceDraft) => readonly string[];
}

export class SourceService {
  readonly #deps: SourceServiceDeps;

  constructor(deps: SourceServiceDeps) {
    this.#deps = deps;
  }

  list(): Promise<readonly ExtractionSource[]> {
    return this.#deps.sources.list();
  }

  async get(id: string): Promise<ExtractionSource> {
    const source = await this.#deps.sources.get(id);
    if (!source) throw new CoreError('NOT_FOUND', `There is no extraction source ${id}.`);
    return source;
  }

  /** Fails with INPUT_INVALID, or CONFLICT when the name is taken. */
  async add(input: SourceInput): Promise<ExtractionSource> {
    return this.#add(this.#checked(draftOf(input)), false);
  }

  async change(id: string, change: SourceChange): Promise<ExtractionSource> {
    const source = await this.get(id);
    assertNotFromFile(source);
    return this.#change(source, this.#checked(changed(source, change)));
  }

  /** Its runs and its vault are kept. Fails with CONFLICT while it runs. */
  async remove(id: string): Promise<void> {
    const source = await this.get(id);
    assertNotFromFile(source);
    const [active] = await this.#deps.runs.list({
      source: source.name,
      states: ['queued', 'running'],
      limit: 1,
    });
    if (active)
      throw new CoreError(
        'CONFLICT',
        `The source ${source.name} is running (run ${active.id}). Stop it first.`,
      );
    await this.#deps.sources.remove(id);
  }

  /**
   * Synchronizes the sources of the file with `inputs`: creates, updates and deletes. Sources registered otherwise are
   * kept; one with the same name now belongs to the file.
   */
  async syncFile(inputs: readonly SourceInput[]): Promise<void> {
    const drafts = inputs.map((input) => this.#checked(draftOf(input)));
    const known = new Map((await this.list()).map((source) => [source.name, source]));
    for (const draft of drafts) {
      const source = known.get(draft.name);
      if (source) await this.#change({ ...source, isFromFile: true }, draft);
      else await this.#add(draft, true);
      known.delete(draft.name);
    }
    for (const source of known.values()) if (source.isFromFile) await this.#deps.sources.remove(source.id);
  }

  async #add(draft: SourceDraft, isFromFile: boolean): Promise<ExtractionSource> {
    const now = this.#now();
    const source = {
      ...draft,
      id: this.#deps.ids.uuid(),
      isFromFile,
      createdAt: now,
      modifiedAt: now,
      lastScheduledAt: now,
    };
    await this.#deps.sources.add(source);
    return source;
  }

  /** A new or reactivated schedule starts now: earlier occurrences are not made up for. */
  async #change(source: ExtractionSource, draft: SourceDraft): Promise<ExtractionSource> {
    const now = this.#now();
    const isNewSchedule = draft.schedule !== source.schedule || (draft.is_active && !source.is_active);
    const next = {
      ...source,
      ...draft,
      modifiedAt: now,
      lastScheduledAt: isNewSchedule ? now : source.lastScheduledAt,
    };
    if (!(await this.#deps.sources.update(next)))
      throw new CoreError('NOT_FOUND', `The source ${source.name} was deleted meanwhile.`);
    return next;
  }

  #checked(draft: SourceDraft): SourceDraft {
    const problems = this.#deps.problems(draft);
    if (problems.length === 0) return draft;
    throw new CoreError('INPUT_INVALID', `The source ${draft.name} cannot be used: ${problems.join('; ')}.`, {
      details: { problems },
    });
  }

  #now(): Date {
    return new Date(this.#deps.clock.now());
  }
}

/** Validated by the schema again: settings must be of the source's kind. */
function changed(source: ExtractionSource, change: SourceChange): SourceDraft {
  const parsed = sourceInput.safeParse({ ...inputOf(source), ...change });
  if (parsed.success) return draftOf(parsed.data);
  const problems = parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
  throw new CoreError('INPUT_INVALID', `The change cannot be made: ${problems.join('; ')}.`, {
    details: { problems },
  });
}

function assertNotFromFile({ name, isFromFile }: ExtractionSource): void {
  if (!isFromFile) return;
  throw new CoreError(
    'CONFLICT',
    `The source ${name} comes from the sources file (extraction.sourcesFile). Change it there and start the server again.`,
  );
}

/** Valid wherever a variable may be used, addresses included. */
const placeholderValue = 'https://not-set.invalid';

/** What is wrong with a source beyond its schema. Variables need not be set yet: that is checked when it runs. */
export function sourceProblems(
  { kind, settings, options, schedule }: SourceDraft,
  server: ExtractionOptionValues,
  env: Readonly<Record<string, string | undefined>>,
): readonly string[] {
  return [
    ...optionProblems(options, server),
    ...(schedule === null ? [] : problemsOf(() => parseCron(schedule))),
    ...('definition' in settings ? definitionProblems(settings.definition, env) : []),
    ...(kind === 'rest' && (options.folders?.length ?? 0) > 0
      ? ['options.folders is for Looker; a REST source has no folders']
      : []),
  ];
}

function definitionProblems(
  text: string,
  env: Readonly<Record<string, string | undefined>>,
): readonly string[] {
  const complete = new Proxy(env, { get: (set, name) => Reflect.get(set, name) || placeholderValue });
  return problemsOf(() => loadDescription(text, { env: complete, file: 'settings.definition' }));
}

function problemsOf(check: () => unknown): readonly string[] {
  try {
    check();
    return [];
  } catch (error) {
    const problems: unknown = error instanceof HeadworksError ? error.details['problems'] : undefined;
    const lines = Array.isArray(problems) ? problems.map(String) : [messageOf(error)];
    return lines.map((line) => line.replace(/\.$/, ''));
  }
}

const sourceList = z
  .array(sourceInput, 'must be a list of sources')
  .refine((list) => new Set(list.map(({ name }) => name)).size === list.length, 'contains a name twice');

/** Reads a YAML list of sources. Fails with CONFIG_INVALID, naming every problem. An empty file has no sources. */
export async function readSourcesFile(file: string): Promise<readonly SourceInput[]> {
  const parsed = sourceList.safeParse((await readYaml(file)) ?? []);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map(({ path, message }) =>
    path.length === 0 ? message : `${path.map(String).join('.')}: ${message}`,
  );
  throw invalidFile(file, problems.join('; '));
}

async function readYaml(file: string): Promise<unknown> {
  try {
    return parse(await readFile(file, 'utf8')) as unknown;
  } catch (error) {
    // Only the first line of a YAML error: the others quote the text.
    throw invalidFile(file, messageOf(error).split('\n')[0] ?? '', error);
  }
}

function invalidFile(file: string, problem: string, cause?: unknown): CoreError {
  return new CoreError(
    'CONFIG_INVALID',
    `The sources file ${file} (extraction.sourcesFile) cannot be used: ${problem}.`,
    { cause },
  );
}
