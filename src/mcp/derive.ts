// Makes a tool of an API operation that lists or gets: its input and output come from the operation's schemas.
import { z } from 'zod';
import { pathWith } from '../api/client.ts';
import type { Operation } from '../api/operation.ts';
import { cut, fitting } from './bounds.ts';
import { note, pageSize } from './fields.ts';
import type { Tool, ToolSpec } from './tool.ts';
import { defineTool } from './tool.ts';

type Words = Pick<ToolSpec<z.ZodRawShape, z.ZodRawShape>, 'name' | 'title' | 'description' | 'whenNotFound'>;

export interface DerivedToolSpec extends Words {
  /** Upper bound and default of `limit`: pages must fit into a model's context. */
  readonly maxPageSize?: number;
  readonly defaultPageSize?: number;
  /** Longer texts are cut; default: 500 characters. */
  readonly maxTextLength?: number;
  /** Other words for input fields than the API's, for a reader without a terminal. */
  readonly describe?: Readonly<Record<string, string>>;
}

/** The tool calls the operation with the caller's credentials and bounds what comes back. */
export function toolFor(op: Operation, spec: DerivedToolSpec): Tool {
  const { maxPageSize = 100, defaultPageSize = 20, maxTextLength = 500, describe = {}, ...words } = spec;
  const query = shapeOf(op.query);
  const isOfSpace = 'space' in query;
  const params = op.params ? shapeOf(op.params) : {};
  const input: Record<string, z.ZodType> = { ...params, ...query };
  delete input['space'];
  delete input['organization'];
  if ('limit' in input) input['limit'] = pageSize(maxPageSize, defaultPageSize);
  for (const [name, text] of Object.entries(describe)) {
    const field = input[name];
    if (field) input[name] = field.describe(text);
  }
  const output = shapeOf(op.output as z.ZodType);
  const listName = Object.keys(output).find((name) => output[name] instanceof z.ZodArray);
  return defineTool({
    ...words,
    access: op.access === 'tenant' ? 'tenant' : 'admin',
    isOfSpace,
    effect: op.method === 'GET' ? 'reads' : 'changes',
    input,
    output: { ...output, note },
    async run(given, { api, place, signal }) {
      const path = pathWith(op.path, given as Record<string, string>);
      const sent = Object.fromEntries(Object.entries(given).filter(([name]) => name in query));
      const response = (await api.call('GET', path, { query: { ...sent, ...place }, signal })) as Page;
      return withinBudget(withShortTexts(response, maxTextLength), listName);
    },
  });
}

type Page = Readonly<Record<string, unknown>>;

/** A list that does not fit ends early, and `next` and `note` say so. */
function withinBudget(response: Page, listName: string | undefined): Page & { readonly note: string | null } {
  if (listName === undefined || !('next' in response)) return { ...response, note: null };
  const items = response[listName] as readonly { readonly id?: string }[];
  const shown = fitting(items);
  const next = shown.length < items.length ? (shown.at(-1)?.id ?? null) : (response['next'] as string | null);
  const more = next === null ? null : `There are more; call again with after = ${next}.`;
  return { ...response, [listName]: shown, next, note: more };
}

/** With every text cut to what a model needs to see of it. */
function withShortTexts<T>(value: T, maxLength: number): T {
  if (typeof value === 'string') return cut(value, maxLength) as T;
  if (Array.isArray(value)) return value.map((item: unknown) => withShortTexts(item, maxLength)) as T;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [name, withShortTexts(item as unknown, maxLength)]),
  ) as T;
}

function shapeOf(schema: z.ZodType): Record<string, z.ZodType> {
  if (schema instanceof z.ZodObject) return schema.shape;
  throw new TypeError('A tool can be derived only from operations whose input and output are objects.');
}
