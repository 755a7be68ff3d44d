// A tool: its words, its schemas, who may use it, and what it does. One definition for every transport.
import { z } from 'zod';
import { CoreError, zodErrorMessage } from '../core/index.ts';
import type { Place } from './fields.ts';
import { organizationField, spaceField } from './fields.ts';
import type { CallerKind, HeadworksApi } from './ports.ts';
import type { Advice } from './spaces-hint.ts';
import { inPlace } from './spaces-hint.ts';

/** Who finds it in the list: `tenant` is an organization and the admin. */
export type ToolAccess = 'tenant' | 'admin';

export interface ToolContext {
  readonly api: HeadworksApi;
  readonly caller: CallerKind;
  /** Goes with every query or body about knowledge. */
  readonly place: Place;
  readonly signal: AbortSignal;
}

export interface ToolSpec<Input extends z.ZodRawShape, Output extends z.ZodRawShape> extends Advice {
  readonly name: string;
  readonly title: string;
  /** For a model: what it is for, when to use it, what comes back. */
  readonly description: string;
  readonly access: ToolAccess;
  /** It asks about a space: `space`, and for the admin `organization`, are added to its input. */
  readonly isOfSpace: boolean;
  readonly effect: 'reads' | 'adds' | 'changes';
  readonly input: Input;
  readonly output: Output;
  run(input: z.output<z.ZodObject<Input>>, context: ToolContext): Promise<z.input<z.ZodObject<Output>>>;
}

export interface ListedTool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly inputSchema: { readonly type: 'object' } & Record<string, unknown>;
  readonly outputSchema: { readonly type: 'object' } & Record<string, unknown>;
  readonly annotations: Readonly<Record<string, boolean>>;
}

export interface Tool extends Pick<ToolSpec<z.ZodRawShape, z.ZodRawShape>, 'name' | 'access'> {
  /** As `tools/list` tells it to this caller. */
  listing(caller: CallerKind): ListedTool;
  /** The answer, of the declared shape and nothing besides. Fails with INPUT_INVALID naming every field that is wrong. */
  answer(given: unknown, context: Omit<ToolContext, 'place'>): Promise<Record<string, unknown>>;
}

export function defineTool<Input extends z.ZodRawShape, Output extends z.ZodRawShape>(
  spec: ToolSpec<Input, Output>,
): Tool {
  const output = z.object(spec.output);
  const inputs = { admin: inputOf(spec, 'admin'), organization: inputOf(spec, 'organization') };
  const listings = new Map<CallerKind, ListedTool>();
  return {
    name: spec.name,
    access: spec.access,
    listing(caller) {
      const listing = listings.get(caller) ?? listed(spec, inputs[caller], output);
      listings.set(caller, listing);
      return listing;
    },
    async answer(given, context) {
      const { space, organization, ...input } = checked(spec.name, inputs[context.caller], given);
      const place = { space, organization } as Place;
      const run = spec.run(input as z.output<z.ZodObject<Input>>, { ...context, place });
      return output.parse(await inPlace(run, place, context, spec));
    },
  };
}

function inputOf<Input extends z.ZodRawShape>(
  { input, isOfSpace }: Pick<ToolSpec<Input, z.ZodRawShape>, 'input' | 'isOfSpace'>,
  caller: CallerKind,
): z.ZodObject {
  return z.strictObject({
    ...input,
    ...(isOfSpace ? { space: spaceField } : {}),
    ...(isOfSpace && caller === 'admin' ? { organization: organizationField } : {}),
  });
}

function checked(name: string, schema: z.ZodObject, given: unknown): Record<string, unknown> {
  const { data, error } = schema.safeParse(given ?? {}, { error: zodErrorMessage });
  if (data) return data;
  const problems = error.issues.flatMap((issue) => {
    const strangers = issue.code === 'unrecognized_keys' ? issue.keys : [];
    const path = issue.path.map(String);
    if (strangers.length > 0) return strangers.map((key) => `${[...path, key].join('.')}: ${issue.message}`);
    return [`${path.join('.') || 'the arguments'}: ${issue.message}`];
  });
  const known = Object.keys(schema.shape).join(', ') || 'none';
  throw new CoreError(
    'INPUT_INVALID',
    `Nothing was done: the arguments of "${name}" are invalid. ${problems.join('; ')}. It takes: ${known}.`,
  );
}

type Spec = ToolSpec<z.ZodRawShape, z.ZodRawShape>;

function listed(
  { name, title, description, effect }: Pick<Spec, 'name' | 'title' | 'description' | 'effect'>,
  input: z.ZodObject,
  output: z.ZodObject,
): ListedTool {
  return {
    name,
    title,
    description,
    inputSchema: jsonSchema(input, 'input'),
    outputSchema: jsonSchema(output, 'output'),
    annotations: {
      readOnlyHint: effect === 'reads',
      destructiveHint: effect === 'changes',
      idempotentHint: effect !== 'changes',
      openWorldHint: false,
    },
  };
}

/** Draft 7, as the SDK's own clients read it; without the grammar of dates and ids, which nobody wants to read. */
function jsonSchema(schema: z.ZodObject, io: 'input' | 'output'): ListedTool['inputSchema'] {
  const made = z.toJSONSchema(schema, {
    target: 'draft-7',
    io,
    override: ({ jsonSchema: each }) => {
      if (each.format === 'date-time' || each.format === 'uuid' || each.contentEncoding === 'base64')
        delete each.pattern;
      if (each.minimum === Number.MIN_SAFE_INTEGER) delete each.minimum;
      if (each.maximum === Number.MAX_SAFE_INTEGER) delete each.maximum;
    },
  });
  return made as unknown as ListedTool['inputSchema'];
}
